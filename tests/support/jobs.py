"""Waiting for jobs of the app in tests."""

import time

from ui.library import jobs


def until(job, wanted, seconds=240):
    """The job as soon as ``wanted(job)`` is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        now = jobs.find(job.folder.parent, job.id)
        if now and wanted(now):
            return now
        time.sleep(0.02)
    raise AssertionError(f"{now.state}: {now.now}; {(job.folder / 'log.txt').read_text()[-2000:]}")


def ended(job):
    return not job.alive
