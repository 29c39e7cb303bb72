"""Why a role waits, for `kingdom status`: `state/{role}/waits-{what}.json`, while it does.

A role that can open no more files could not write it either, nor its log, nor show life. So one
descriptor is kept for that, and given away while it waits.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from kingdom.errors import KingdomError
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json

LOOP, TMUX = "loop", "tmux"


class Waits:
    def __init__(self, base: BaseDir, role: str, what: str = LOOP) -> None:
        self._path = _path(base, role, what)
        self._spare: int | None = None
        self._told: dict[str, str] | None = {}  # perhaps something, from a former life
        self._take_spare()

    def because(self, error: KingdomError) -> None:
        told = {"code": error.code, "sentence": error.sentence, "remedy": error.remedy}
        if told == self._told:
            return
        self._give_spare()
        with suppress(OSError):  # a full disk, say, which status sees by itself
            write_json(self._path, told, sync=False)
            self._told = told

    def no_more(self) -> None:
        if self._told is not None:
            with suppress(OSError):
                disk.remove(self._path)
                self._told = None
            self._take_spare()

    def _take_spare(self) -> None:
        with suppress(OSError):
            self._give_spare()
            self._spare = disk.open_to_read(os.devnull)

    def _give_spare(self) -> None:
        if self._spare is not None:
            disk.close_file(self._spare)
            self._spare = None


def waits(base: BaseDir, role: str) -> list[dict[str, Any]]:
    """What a role has told."""
    found = (read_json(_path(base, role, what)) for what in (LOOP, TMUX))
    return [one for one in found if isinstance(one, dict) and one.get("sentence")]


def _path(base: BaseDir, role: str, what: str) -> str:
    return base.path("state", role, f"waits-{what}.json")
