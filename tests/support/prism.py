"""Prism before a server of ours: it lets pass what fits GitHub's own description of its API, both
what is asked and what is answered, and answers with an error of its own to anything else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.support import programs
from tests.support.github_server import TOKEN
from tests.support.listening import listening
from tests.support.waiting import eventually

_REPO = "/repos/{owner}/{repo}"
_PATHS = (
    "/notifications",
    "/notifications/threads/{thread_id}",
    "/user",
    _REPO,
    f"{_REPO}/issues/{{issue_number}}",
    f"{_REPO}/issues/{{issue_number}}/comments",
    f"{_REPO}/issues/comments/{{comment_id}}",
    f"{_REPO}/pulls",
    f"{_REPO}/pulls/{{pull_number}}",
    f"{_REPO}/pulls/{{pull_number}}/files",
    f"{_REPO}/pulls/{{pull_number}}/reviews",
)
_COMPLAINS = re.compile(r"(\w+ /\S*) .*(Violation|terminated with error): (.*)")


class Prism:
    def __init__(self, url: str, log: Path) -> None:
        self.url = url
        self._log = log

    def complaints(self) -> list[str]:
        """About all that passed so far."""
        self.verdict("/no-such-place")  # the log is written in order, but later than the answer
        eventually(lambda: self._found()[-1:] == ["get /no-such-place"], "prism has told all")
        return [one for one in self._found() if one != "get /no-such-place"]

    def _found(self) -> list[str]:
        return [found[1] for found in _COMPLAINS.finditer(self._log.read_text())]

    def verdict(self, path: str) -> str:
        """What it says about the answer to this question."""
        request = Request(self.url + path, headers={"Authorization": f"token {TOKEN}"})
        try:
            with urlopen(request) as answer:
                return str(answer.headers.get("sl-violations", ""))
        except HTTPError as error:
            with error:
                return error.read().decode()


@contextmanager
def before(upstream: str, scratch: Path) -> Iterator[Prism]:
    description, log = scratch / "description.json", scratch / "prism.log"
    description.write_text(json.dumps(_needed(json.loads(programs.github_api().read_text()))))
    argv = [programs.prism(), "proxy", "--errors", "--port", "0", str(description), upstream]
    with listening(argv, log) as url:
        yield Prism(url, log)


def _needed(description: dict[str, Any]) -> dict[str, Any]:
    """The whole one takes it the better part of a minute to read."""
    paths = {path: description["paths"][path] for path in _PATHS}
    parts: dict[str, dict[str, Any]] = {}
    waiting: list[Any] = [paths]
    while waiting:
        for _, _, kind, name in _references(waiting.pop()):
            if name not in parts.setdefault(kind, {}):
                parts[kind][name] = description["components"][kind][name]
                waiting.append(parts[kind][name])
    return {name: description[name] for name in ("openapi", "info", "servers")} | {
        "paths": paths,
        "components": parts,
    }


def _references(found: Any) -> Iterator[list[str]]:
    if isinstance(found, dict):
        if isinstance(found.get("$ref"), str):
            yield found["$ref"].split("/")
        found = list(found.values())
    if isinstance(found, list):
        for one in found:
            yield from _references(one)
