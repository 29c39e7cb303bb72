"""What each call of the model uses, and whether the next one may be made."""

from __future__ import annotations

from collections.abc import Mapping


class Call:
    """One call, between the request and the end of its answer."""

    refusal = ""  # why it may not be made
    status = 402

    def answered(self, status: int, headers: Mapping[str, str]) -> None: ...

    def read(self, part: bytes) -> None:
        """A part of the answer, as it passes."""

    def end(self) -> None: ...


class Meter:
    def begin(self, path: str, body: bytes) -> Call:
        return Call()
