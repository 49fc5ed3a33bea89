"""A real PostgreSQL of our own: Debian's programs, a new cluster in a folder of its own, no port, gone at the end."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

USER = "tester"


def programs() -> Path | None:
    """The folder of initdb and postgres, the newest that is installed."""
    beside = shutil.which("initdb")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else Path(beside).resolve().parent if beside else None


class Cluster:
    """A server that can be killed and started again."""

    def __init__(self, home: Path, settings: tuple[str, ...]):
        self.home, self.settings = home, settings
        # PostgreSQL refuses to run as root
        self.user = None if os.getuid() else next(x for x in ("postgres", "nobody") if _there(x))
        if self.user:
            shutil.chown(home, self.user)
        self._run("initdb", "-D", home / "data", "-U", USER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        self.databases = 0
        self.start()

    @property
    def address(self) -> str:
        return f"postgresql://{USER}@/postgres?host={self.home}"

    def start(self) -> None:
        command = [programs() / "postgres", "-D", self.home / "data", "-k", self.home, "-h", ""]
        command += [part for setting in self.settings for part in ("-c", setting)]
        with open(self.home / "log", "ab") as log:
            self.process = subprocess.Popen(command, user=self.user, cwd=self.home, stdout=subprocess.DEVNULL,
                                            stderr=log, start_new_session=True)
        for _ in range(600):
            if self._run("pg_isready", "-h", self.home, "-q", check=False) == 0:
                return
            time.sleep(0.1)
        raise RuntimeError((self.home / "log").read_text())

    def stop(self, number: int = signal.SIGINT) -> None:
        """SIGINT ends it in an orderly way, at once; SIGKILL does not."""
        self.process.send_signal(number)
        self.process.wait()
        while self._run("pg_isready", "-h", self.home, "-q", check=False) == 0:      # its children go, too
            time.sleep(0.05)

    def new_database(self) -> str:
        """The address of an empty one."""
        import psycopg

        self.databases += 1
        with psycopg.connect(self.address, autocommit=True) as server:
            server.execute(f"CREATE DATABASE desk{self.databases}")
        return self.address.replace("/postgres?", f"/desk{self.databases}?")

    def _run(self, name: str, *arguments, check: bool = True) -> int:
        return subprocess.run([programs() / name, *arguments], user=self.user, cwd=self.home, check=check,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


@contextmanager
def cluster(*settings: str):
    """Start one, and end it with all that it kept."""
    home = Path(tempfile.mkdtemp(prefix="qpwl-pg-"))
    running = None
    try:
        running = Cluster(home, settings)
        yield running
    finally:
        if running is not None and running.process.poll() is None:
            running.stop()
        shutil.rmtree(home, ignore_errors=True)


def _there(user: str) -> bool:
    try:
        return bool(pwd.getpwnam(user))
    except KeyError:
        return False
