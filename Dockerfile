# The app on port 8501, as a user without rights; everything it writes goes below /data. See docs/deploying.md.
FROM python:3.12-slim

# A compiler: the kernels for distances are compiled once, on first use (without one it works, slower).
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 lab && install -d -o lab /data
WORKDIR /app
COPY requirements.txt .
# The CPU build of PyTorch first and alone: what is installed after it then finds its requirement met.
RUN pip install --no-cache-dir --index-url https://download.pytorch.org/whl/cpu "$(grep '^torch==' requirements.txt)" \
    && pip install --no-cache-dir -r requirements.txt
COPY . .
USER lab
ENV QPWL_RUNS=/data/runs QPWL_DESK=/data/desk QPWL_CACHE=/data/cache HOME=/tmp PYTHONDONTWRITEBYTECODE=1
VOLUME /data
EXPOSE 8501
HEALTHCHECK CMD python -c "import urllib.request; urllib.request.urlopen('http://localhost:8501/_stcore/health')"
CMD ["streamlit", "run", "app.py", "--server.port=8501", "--server.address=0.0.0.0", "--server.headless=true"]
