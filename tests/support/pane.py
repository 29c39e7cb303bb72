"""A real terminal: one pane of a tmux server of its own, with what it shows and what is typed."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.cli import environment
from tests.support.waiting import eventually


class Pane:
    def __init__(self, place: Path) -> None:
        self._modes = [place / "modes.before", place / "modes.after"]
        self._tmux = ["tmux", "-S", str(place / "tmux"), "-f", os.devnull]

    def run(self, *words: str) -> str:
        """What is in the pane has these surroundings, too, and none of its caller's."""
        done = subprocess.run(
            [*self._tmux, *words], capture_output=True, encoding="utf-8", env=environment(),
            check=True,
        )  # fmt: skip
        return done.stdout

    def open(self, argv: Sequence[str], env: dict[str, str], columns: int, rows: int) -> None:
        """A shell runs it, says how it ended, and stays."""
        names = [f"-e{name}={value}" for name, value in env.items()]
        before, after = self._modes
        steps = ("trap : INT", f"stty -g > {before}", shlex.join(argv), "ended=$?")
        script = "; ".join((*steps, f"stty -g > {after}", "echo left $ended", "exec cat"))
        size = ("-x", str(columns), "-y", str(rows))
        self.run("new-session", "-d", *size, *names, "sh", "-c", script)

    def shown(self) -> str:
        return self.run("capture-pane", "-p")

    def until(self, *texts: str) -> str:
        """The screen that has them all: it is drawn piece by piece."""
        seen = ""

        def there() -> bool:
            nonlocal seen
            seen = self.shown()
            return all(text in seen for text in texts)

        eventually(there, f"the screen shows {texts}", told=lambda: seen)
        return seen

    def until_gone(self, text: str) -> None:
        eventually(lambda: text not in self.shown(), f"no {text} any more", told=self.shown)

    def is_restored(self) -> bool:
        """As it was before, with the cursor to be seen, and what stood there."""
        before, after = (path.read_text() for path in self._modes)
        return before == after and (self.told("alternate_on"), self.told("cursor_flag")) == (
            "0",
            "1",
        )

    def type(self, *keys: str) -> None:
        self.run("send-keys", *keys)

    def resize(self, columns: int, rows: int) -> None:
        self.run("resize-window", "-x", str(columns), "-y", str(rows))

    def told(self, what: str) -> str:
        return self.run("display-message", "-p", f"#{{{what}}}").strip()


@contextmanager
def pane(scratch: Path) -> Iterator[Pane]:
    made = Pane(scratch)
    try:
        yield made
    finally:
        subprocess.run([*made._tmux, "kill-server"], capture_output=True, check=False)
