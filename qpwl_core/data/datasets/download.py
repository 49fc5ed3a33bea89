"""Downloads that go on where they stopped, with a progress bar and a check of what arrived."""

from __future__ import annotations

import logging
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from qpwl_core.data.errors import RecordingsError

TIMEOUT = 30  # seconds without a byte
Progress = bool | Callable[[int], object]  # a bar, none, or a function that gets the bytes of each block


def download_files(dataset, folder: Path, progress: Progress) -> None:
    """Fetch the archives in ``dataset.downloads``; no checksums are published, so see that they are archives."""
    for url in dataset.downloads:
        path = download(url, folder, progress=progress)
        if not (zipfile.is_zipfile(path) if path.suffix == ".zip" else tarfile.is_tarfile(path)):
            path.unlink()  # most likely a page that says sorry, or asks to log in
            raise RecordingsError(f"what {urlsplit(url).netloc} sent as {path.name} is not an archive")


def download(url: str, folder: Path, name: str = "", sha256: str | None = None, progress: Progress = True) -> Path:
    """Fetch one file into ``folder``; one that is there, and right, is not fetched again.

    ``progress``: a bar (True), none (False), or a function that is called with the bytes of each block that arrives.
    What has arrived of an unfinished file stays in ``<name>.part`` and is continued with an HTTP Range request, at once
    while bytes keep coming (and once more), else at the next call.
    """
    import pooch
    import requests

    name = name or PurePosixPath(unquote(urlsplit(url).path)).name
    target, part = folder / name, folder / (name + ".part")
    target.parent.mkdir(parents=True, exist_ok=True)
    host = urlsplit(url).netloc

    def resume(url, output_file, _):
        idle = 0
        while True:
            before = _size(part)
            try:
                _continue(url, part, progress)
                return os.replace(part, output_file)
            except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError):
                idle = 0 if _size(part) > before else idle + 1
                if idle == 2:
                    raise

    pooch.get_logger().setLevel(logging.WARNING)  # else it prints a hash for us to copy
    try:
        return Path(pooch.retrieve(url, f"sha256:{sha256}" if sha256 else None, fname=target.name, path=target.parent,
                                   downloader=resume))
    except requests.HTTPError as error:
        answer = error.response
        assert answer is not None, "raise_for_status says which answer it is about"
        raise RecordingsError(f"{host} answered {answer.status_code} for {url}") from None
    except requests.RequestException:
        raise RecordingsError(f"{host} cannot be reached, or broke off while sending {name}") from None
    except ValueError:
        raise RecordingsError(f"{name} arrived from {host} with the wrong checksum and was thrown away") from None
    except OSError as error:
        raise RecordingsError(f"{name} could not be written to {folder} ({error.strerror})") from None


def _size(path):
    return path.stat().st_size if path.exists() else 0


def _continue(url, part, progress):
    """Append to ``part`` what is still missing; raises what requests raises."""
    import requests
    from tqdm import tqdm

    have = _size(part)
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
        if answer.status_code == 416:  # nothing is left after what we have, or the file has changed: start over
            if answer.headers.get("Content-Range", "").endswith(f"/{have}"):
                return
            part.unlink()
            return _continue(url, part, progress)
        answer.raise_for_status()
        if answer.status_code != 206:  # a server that does not continue sends everything again
            have = 0
        left = answer.headers.get("Content-Length")
        with (part.open("r+b" if have else "wb") as file,
              tqdm(total=have + int(left) if left else None, initial=have, unit="B", unit_scale=True,
                   desc=part.stem, disable=progress is not True) as bar):
            file.seek(have)
            for block in answer.iter_content(2**18):
                file.write(block)
                bar.update(len(block))
                if callable(progress):
                    progress(len(block))
