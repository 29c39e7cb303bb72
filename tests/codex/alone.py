"""Runs a soldier where there is no network but loopback, and tells what names were looked up.

    unshare --map-root-user --net --mount python -m tests.codex.alone PROGRAM PLACE [on]

With `on`, the program may do all that it would at every start if it were not told otherwise.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from tests.codex.camp import pitched
from tests.support.scripted_model import say

_SIOCSIFFLAGS, _UP = 0x8914, 0x1
_PORT = 53
OURS = "control.example"
CHATTY = {"features.plugins": True, "features.apps": True, "analytics.enabled": True}


def main(program: str, place: str, is_on: bool) -> None:
    bring_up_loopback()
    names = listen(place)
    with suppress(OSError):
        socket.getaddrinfo(OURS, 80)
    with pitched(Path(place), program) as camp:
        camp.engine_with(config=CHATTY if is_on else {})
        run = camp.play(say("Fine."))
    print(json.dumps({"said": run.verdict.last_message, "names": sorted(names)}))


def bring_up_loopback() -> None:
    with socket.socket() as any_one:
        fcntl.ioctl(any_one, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _UP))


def listen(place: str) -> set[str]:
    """The names that are asked for, from now on; all of them are unknown."""
    names: set[str] = set()
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", _PORT))

    def answer() -> None:
        while True:
            asked, sender = server.recvfrom(4096)
            names.add(name_in(asked))
            server.sendto(asked[:2] + b"\x81\x83" + asked[4:6] + bytes(6) + asked[12:], sender)

    threading.Thread(target=answer, daemon=True).start()
    own = Path(place, "resolv.conf")
    own.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n", "ascii")
    subprocess.run(["mount", "--bind", str(own), os.path.realpath("/etc/resolv.conf")], check=True)
    return names


def name_in(asked: bytes) -> str:
    at, labels = 12, []
    while asked[at]:
        labels.append(asked[at + 1 : at + 1 + asked[at]].decode("ascii", "replace"))
        at += 1 + asked[at]
    return ".".join(labels)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], "on" in sys.argv[3:])
