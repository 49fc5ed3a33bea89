"""One visitor of a class who uploads a large file, in a process of its own (`hard_class.py uploads` starts ten).

    python -m scripts.large_upload ADDRESS COOKIE FILE

The file goes from the disk to the server piece by piece; what the visitor is told is printed as JSON: "done", or one
sentence of the page, with the seconds it took. The process says "ready" first and waits for a line.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from tests.support.client import Client

WAITS = 300


def sentences(client: Client) -> list[str]:
    """What the page says in a red box."""
    return [element.alert.body for element in client.elements.values() if element.WhichOneof("type") == "alert"
            and element.alert.format == element.alert.ERROR]


async def uploaded(address: str, cookie: str, path: Path) -> tuple[str, float]:
    """What they are told, and after how long."""
    async with Client(address, cookie) as client:
        await client.open("data", "data_view=Your+own", WAITS)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        begun = time.monotonic()
        said = await told(client, path)
        return said, time.monotonic() - begun


async def told(client: Client, path: Path) -> str:
    """"done" where the page lists the file, or the one sentence that is said instead."""
    await client.upload(client.find("file_uploader", "Recordings of several people"), path.name, path, WAITS)
    said = sentences(client)
    if client.errors or len(said) > 1:
        return f"EXCEPTION {client.errors} {said}"
    return said[0] if said else "done" if f"**{path.stem}**" in client.text else "SAID NOTHING"


def main() -> None:
    os.nice(10)                                                # it would have a machine of its own
    address, cookie, path = sys.argv[1:]
    try:
        said, seconds = asyncio.run(uploaded(address, cookie, Path(path)))
    except Exception as error:
        said, seconds = f"EXCEPTION {type(error).__name__} {error}", 0.0
    print(json.dumps({"said": said, "seconds": seconds}))


if __name__ == "__main__":
    main()
