# make run    set up what is missing and open the app          make test   everything CI checks
# make setup  the set-up alone                                 make bench  the benchmark table
# make class  a class on the local network (WORKERS=n DASK=…)  make class-end  removes what everybody left
# make screenshots  every view, light and dark, into screenshots/   make docs  the reference, into build/docs
# make licences     the licence of everything we depend on
PYTHON ?= python3
BIN := .venv/bin
PORT ?= 8501
WORKERS ?= 1

.PHONY: run class class-end setup test bench screenshots docs licences lint clean
.DELETE_ON_ERROR:

run: .venv/.run
	$(BIN)/python -m ui.serve --server.port $(PORT)

class: .venv/.run $(if $(filter-out 1,$(WORKERS)),.venv/.nginx)
	$(BIN)/python -m scripts.classroom start --workers $(WORKERS) --port $(PORT) --dask "$(DASK)"

class-end: .venv/.run
	$(BIN)/python -m scripts.classroom end

setup: .venv/.run

test: .venv/.dev .venv/.browser .venv/.postgres .venv/.nginx
	$(BIN)/ruff check .
	$(BIN)/mypy
	@# Two processes of one thread each keep two cores busy, and no more: the browser's tests, then those of the core,
	@# beside all others, which start servers and trainings of their own.
	@export OMP_NUM_THREADS=1; \
	($(BIN)/python -m pytest --durations=10 tests/browser; browser=$$?; \
	 $(BIN)/python -m pytest --durations=10 tests/core qpwl_core; exit $$((browser || $$?))) > .venv/core.log 2>&1 & \
	core=$$!; \
	$(BIN)/python -m pytest --durations=10 --ignore=tests/browser --ignore=tests/core --ignore=qpwl_core; others=$$?; \
	wait $$core; core=$$?; cat .venv/core.log; exit $$((others || core))

bench: .venv/.dev .venv/.browser .venv/.postgres
	$(BIN)/python -m benchmarks

screenshots: .venv/.dev .venv/.browser
	$(BIN)/python -m scripts.screenshots

docs: .venv/.dev
	$(BIN)/python -m mkdocs build --strict --quiet
	@echo build/docs/index.html

licences: .venv/.dev
	$(BIN)/python -m scripts.licences

lint: .venv/.dev
	$(BIN)/ruff check .

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "QP-WL Lab needs Python 3.11 or newer; name one with: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv .venv

# torch first and alone: what is installed after it then finds its requirement met.
.venv/.run: requirements.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep '^torch==' requirements.txt)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

.venv/.dev: requirements-dev.txt .venv/.run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

# A Chromium that is there is used; else Debian's package as root, else Playwright's own.
.venv/.browser: .venv/.dev
	@if command -v chromium || command -v chromium-browser || command -v google-chrome; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core >/dev/null; \
	else $(BIN)/playwright install chromium; fi
	touch $@

# A PostgreSQL for the tests, which start it themselves: Debian's package as root, else what is there, else they say so.
.venv/.postgres: .venv/.dev
	@if command -v initdb || ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends postgresql >/dev/null; \
	else echo "PostgreSQL is not installed: the tests that need it are skipped"; fi
	touch $@

# Several workers of a class stand behind nginx: Debian's package as root, else what is there; what needs it says so.
.venv/.nginx: | .venv/bin/python
	@if command -v nginx || [ -x /usr/sbin/nginx ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends nginx-light >/dev/null; \
	else echo "nginx is not installed: a class has one worker, and the tests of several are skipped"; fi
	touch $@
