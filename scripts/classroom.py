"""A class on one server: start it (``make class``), end it (``make class-end``).

    python -m scripts.classroom start [--workers 1] [--port 8501] [--folder class] [--dask ADDRESS]
    python -m scripts.classroom end   [--folder class]

One app process serves the local network itself; several stand behind nginx (Debian's package), each visitor always at
the same one. A process that dies is started again: all that counts is on disk. ``end`` stops the server, removes what
everybody left, and says how much that was.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from qpwl_core.common.files import FileError
from ui.visitors.classroom import BEHIND, FILE, Classroom, open_class
from ui.visitors.guesses import prepare

ROOT = Path(__file__).resolve().parents[1]
# One thread per run of a page: glibc would keep a heap for each of many, and hold on to large arrays that are gone.
# Tables go through Arrow, whose own pool of memory gives nothing back.
MEMORY = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": str(2**20), "MALLOC_TRIM_THRESHOLD_": str(2**24),
          "ARROW_DEFAULT_MEMORY_POOL": "system"}
LOCK, PID = ".serving", "serving.pid"
APP = ROOT / "ui" / "serve_class.py"

NGINX = """
pid {run}/nginx.pid;
error_log {run}/error.log warn;
worker_processes 1;
{user}
events {{ worker_connections 2048; }}
http {{
  access_log off;
  server_tokens off;
  client_body_temp_path {run}/body; proxy_temp_path {run}/proxy;
  fastcgi_temp_path {run}/fastcgi; uwsgi_temp_path {run}/uwsgi; scgi_temp_path {run}/scgi;
  map $http_upgrade $connection_upgrade {{ default upgrade; '' close; }}
  map $cookie_qpwl_visitor $visitor {{ default $cookie_qpwl_visitor; '' $binary_remote_addr; }}
  limit_req_zone $visitor zone=pages:4m rate=60r/s;
  limit_req_zone $binary_remote_addr zone=codes:4m rate=10r/s;
  limit_conn_zone $visitor zone=sockets:4m;
  limit_req_status 429;
  limit_conn_status 429;
  upstream app {{
    hash $visitor consistent;
{servers}
  }}
  server {{
    listen {port};
    client_max_body_size 201m;
    location ~ ^/_stcore/(metrics|agent|script-health-check) {{ return 403; }}
    location ~ ^/(join|lecturer)/ {{ limit_req zone=codes burst=200 nodelay; {proxy} }}
    location / {{ limit_req zone=pages burst=400 nodelay; limit_conn sockets 40; {proxy} }}
  }}
}}
"""
PROXY = """proxy_pass http://app; proxy_http_version 1.1; proxy_read_timeout 1h; proxy_request_buffering off;
      proxy_set_header Host $http_host; proxy_set_header X-Real-IP $remote_addr;
      proxy_set_header X-Forwarded-For ""; proxy_set_header Forwarded "";
      proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;"""


def local_address() -> str:
    """This machine's address on the local network; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return probe.getsockname()[0]
        except OSError:
            return "localhost"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def environment(folder: Path, address: str = "", workers: int = 1, dask: str = "") -> dict[str, str]:
    """What every process of the class must know; runs and desks are the class's own, unless they were named.

    Processes share the cores: each with threads for all of them would be in the others' way.
    """
    room = open_class(folder)
    prepare(folder)
    threads = str(max(1, (os.cpu_count() or 1) // workers))
    return {"QPWL_CLASS": str(folder), "QPWL_CLASS_ADDRESS": address, "OMP_NUM_THREADS": threads,
            "QPWL_DASK": dask or os.environ.get("QPWL_DASK", ""),
            "QPWL_RUNS": os.environ.get("QPWL_RUNS") or str(folder / "runs"),
            "QPWL_DESK": os.environ.get("QPWL_DESK") or str(folder / "desk"),
            "FORWARDED_ALLOW_IPS": "", **({BEHIND: "nginx"} if workers > 1 else {}),        # uvicorn would believe all
            "STREAMLIT_SERVER_COOKIE_SECRET": room.key, **MEMORY}


def app(script: Path, host: str, port: int) -> list[str]:
    return [sys.executable, "-m", "streamlit", "run", str(script), "--server.address", host, "--server.port", str(port),
            "--server.headless", "true",
            "--browser.serverAddress", local_address()]       # or Streamlit asks the web for it


def nginx(run: Path, ports: list[int], port: int) -> list[str]:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        raise FileError("several workers need nginx, which is not installed (Debian's package nginx-light)")
    run.chmod(0o711)
    user = "" if os.getuid() else "user www-data;"
    servers = "\n".join(f"    server 127.0.0.1:{at} max_fails=1 fail_timeout=2s;" for at in ports)
    (run / "nginx.conf").write_text(NGINX.format(run=run, servers=servers, port=port, proxy=PROXY, user=user))
    return [program, "-p", str(run), "-e", str(run / "error.log"), "-c", str(run / "nginx.conf"), "-g", "daemon off;"]


def end_group(process: subprocess.Popen) -> None:
    """End what a process that has ended left behind; trainings are in groups of their own and go on."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)


class Supervisor:
    """Processes that are started again when they die, until they are asked to end."""

    def __init__(self, commands: dict[str, list[str]], variables: dict[str, str]):
        self.commands, self.variables = commands, os.environ | variables
        self.running: dict[str, subprocess.Popen] = {}
        self.asked = False

    def ask(self, *_) -> None:
        self.asked = True

    def run(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.ask)
        try:
            while not self.asked:
                for name, command in self.commands.items():
                    process = self.running.get(name)
                    if process is None or process.poll() is not None:
                        if process is not None:
                            print(f"{name} ended with code {process.returncode}: it is started again", flush=True)
                            end_group(process)             # nginx, killed, leaves children that hold its port
                            time.sleep(0.5)
                        self.running[name] = subprocess.Popen(command, cwd=ROOT, env=self.variables,
                                                              stdin=subprocess.DEVNULL, start_new_session=True)
                time.sleep(0.2)
        finally:
            for process in self.running.values():
                process.terminate()
            for process in self.running.values():
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                end_group(process)


def welcome(room: Classroom, address: str) -> None:
    """The links, and a code to point a phone at."""
    import segno

    link = f"{address}/join/{room.join}"
    print(f"\nStudents:  {link}\nLecturer:  {address}/lecturer/{room.lecturer}   (keep it to yourself)\n")
    segno.make(link, error="l").terminal(compact=True, border=1)
    print("\nCtrl-C stops the server and keeps everything; make class-end removes what everybody left.\n", flush=True)


def start(folder: Path, workers: int, port: int, script: Path = APP, dask: str = "") -> int:
    address = f"http://{local_address()}:{port}"
    variables = environment(folder, address, workers, dask)
    try:
        lock = FileLock(folder / LOCK, timeout=0)
        lock.acquire()
    except Timeout:
        print(f"a class is running in {folder} already", file=sys.stderr)
        return 2
    with lock, tempfile.TemporaryDirectory(prefix="qpwl-nginx-") as run:
        (folder / PID).write_text(str(os.getpid()))
        if workers == 1:
            commands = {"the app": app(script, "0.0.0.0", port)}
        else:
            ports = [free_port() for _ in range(workers)]
            commands = {f"worker {i + 1}": app(script, "127.0.0.1", at) for i, at in enumerate(ports)}
            commands["nginx"] = nginx(Path(run), ports, port)
        welcome(open_class(folder), address)
        Supervisor(commands, variables).run()
        (folder / PID).unlink(missing_ok=True)
    return 0


def stop_server(folder: Path) -> None:
    """Ask the server of a class to end, and wait for it; its number counts only while it holds its lock."""
    for attempt in range(300):
        try:
            with FileLock(folder / LOCK, timeout=0):
                return
        except Timeout:
            if attempt == 0:
                os.kill(int((folder / PID).read_text()), signal.SIGTERM)
            time.sleep(0.1)
    raise FileError("the server of the class does not end: stop it first")


def end(folder: Path) -> int:
    """Remove everything that anybody left, and say how much."""
    if not (folder / FILE).exists():
        print(f"there is no class in {folder}")
        return 0
    stop_server(folder)
    os.environ.update(environment(folder))
    from qpwl_core.common.paths import desk_place
    from qpwl_core.desk.storage import storage_at
    from qpwl_core.desk.visitors import Register
    from ui.library.spaces import clear
    from ui.visitors.classroom import LECTURER

    visitors = Register(desk_place()).all()
    spaces = [clear(who) for who in [*(each.id for each in visitors), LECTURER]]
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    storage_at(desk_place(), "class").drop()
    shutil.rmtree(folder)
    count = {name: sum(len(getattr(space, name)) for space in spaces) for name in ("runs", "models", "uploads")}
    people = sum(len(names) for space in spaces for names in space.desks.values())
    print(f"Removed: {len(visitors)} visitors, {count['runs']} runs, {count['models']} models, {count['uploads']} "
          f"uploads, {people} enrolled people, and the folder {folder} with the last {size / 2**20:.1f} MB.")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("start", "end"))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument("--folder", type=Path, default=ROOT / "class")
    parser.add_argument("--app", type=Path, default=APP, help="another script to serve, to measure it")
    parser.add_argument("--dask", default="", metavar="ADDRESS", help="train on the Dask cluster of this scheduler")
    options = parser.parse_args()
    if not 1 <= options.workers <= 64 or not 1 <= options.port <= 65535:
        parser.error("--workers must be from 1 to 64, --port from 1 to 65535")
    folder = options.folder.absolute()
    try:
        if options.what == "end":
            return end(folder)
        return start(folder, options.workers, options.port, options.app, options.dask)
    except (FileError, OSError) as error:
        print(f"classroom: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
