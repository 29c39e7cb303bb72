"""The command `kingdom` inside a sandbox, where there is no kingdom.

A script stands in for it. It leaves its words in `asked/` beside the soldier's result, and waits
until the wrapper, outside, has put the answer into `answers/`. The wrapper runs only what the
manifest names, such as `Bash(kingdom status:*)`, on this kingdom. Both directories are mounts, so
that no link can be put in their place; `answers/` is read-only inside.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from kingdom.store import disk

SCRIPT = """#!/bin/sh
# Asks the kingdom from inside a sandbox. One word a line; the wrapper answers.
one=${KINGDOM_RESULT_PATH%/*}/asked/$$
answer=${KINGDOM_RESULT_PATH%/*}/answers/$$
: > "$one.tmp" || exit 1
for word; do
    case $word in
        *'
'*) echo "A word may not have several lines." >&2; exit 2 ;;
    esac
    printf '%s\\n' "$word" >> "$one.tmp"
done
mv "$one.tmp" "$one.ask"
until [ -e "$answer.code" ]; do sleep 0.1; done
cat "$answer.out"
cat "$answer.err" >&2
exit "$(cat "$answer.code")"
"""
_RULE = re.compile(r"Bash\(kingdom ([a-z ]+?)(?::\*)?\)")
_LARGEST_REQUEST, _LARGEST_ANSWER = 16 * 1024, 1024 * 1024
_SECONDS = 30
_REFUSED = "Not allowed here: this soldier may ask the kingdom for {allowed} only.\n"
_PASSED = ("PATH", "HOME", "LANG", "TZ")


def allowed_by(tools: Iterable[str] | None) -> list[str]:
    """The commands that these rules name."""
    matches = (_RULE.fullmatch(rule) for rule in tools or ())
    return [found[1] for found in matches if found]


def places(of_result: str) -> tuple[str, str]:
    return os.path.join(of_result, "asked"), os.path.join(of_result, "answers")


class Requests:
    """`section` has `command` (what is run), `allowed`, and `place` (of the soldier's result)."""

    def __init__(self, section: Mapping[str, Any], environment: Mapping[str, str]) -> None:
        self._command = [str(word) for word in section["command"]]
        self._allowed = [str(one).split() for one in section["allowed"]]
        self._asked, self._answers = places(str(section["place"]))
        self._environment = {k: environment[k] for k in _PASSED if k in environment}

    def answer_one(self) -> None:
        """The next that waits, if there is one."""
        for name in disk.names(self._asked):
            number, is_request, _ = name.partition(".ask")
            if is_request and number.isdecimal():
                with suppress(OSError):  # a soldier that spoils its own place gets no answer
                    self._answer(number)
                return

    def _answer(self, number: str) -> None:
        request = os.path.join(self._asked, f"{number}.ask")
        try:
            words = _read(request)
        finally:
            disk.remove(request)
        code, out, err = self._said(words)
        for suffix, content in (("out", out), ("err", err), ("code", str(code).encode())):
            path = os.path.join(self._answers, f"{number}.{suffix}")
            disk.replace(path, content[:_LARGEST_ANSWER], sync=False)

    def _said(self, words: list[str]) -> tuple[int, bytes, bytes]:
        if not any(words[: len(one)] == one for one in self._allowed) or _leads_away(words):
            listed = ", ".join(" ".join(one) for one in self._allowed)
            return 2, b"", _REFUSED.format(allowed=listed or "nothing").encode()
        import subprocess  # few soldiers ask

        try:
            done = subprocess.run(
                [*self._command, *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                env=self._environment,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            return 1, b"", f"{error}\n".encode()
        return done.returncode, done.stdout, done.stderr


def _read(path: str) -> list[str]:
    data, _ = disk.read(path, _LARGEST_REQUEST)
    return data.decode("utf-8", "replace").split("\n")[:-1]


def _leads_away(words: list[str]) -> bool:
    """To another kingdom."""
    return any(word.startswith("--base") for word in words)
