"""Operators that type whatever they please, each command a process of its own."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

from tests.storm.kingdom import ANSWER, Land
from tests.storm.reckoning import names
from tests.support.waiting import let_pass

EXIT_CODES = (0, 1, 2)

# What is typed, of which directories a name is taken for it, and how often.
COMMANDS: dict[tuple[str, ...], tuple[tuple[str, ...], int]] = {
    ("queue", "drop"): (
        (
            "events/pending", "events/dispatched", "tasks/pending", "tasks/in_progress",
            "messages/pending", "messages/held", "results",
        ),
        10,
    ),
    ("queue", "retry"): (("events/dead", "tasks/dead", "messages/dead", "results/dead"), 10),
    ("queue", "show"): (("events/pending", "tasks/in_progress", "events/completed"), 1),
    ("cancel",): (("tasks/pending", "tasks/in_progress"), 4),
    ("retry",): (("tasks/completed", "tasks/dead"), 4),
    ("answer",): (("tasks/completed",), 6),
    ("release",): (("messages/held",), 4),
    ("freeze",): (("tasks/pending", "tasks/in_progress", ""), 2),
    ("thaw",): (("tasks/pending", "tasks/in_progress", ""), 4),
    ("why",): (("events/dispatched", "tasks/in_progress"), 1),
    ("restart",): (("roles",), 1),
    ("status",): (("",), 1),
    ("ask",): (("",), 1),
    ("fsck", "--fix"): (("",), 1),
    ("clean",): (("",), 1),
}  # fmt: skip
_WITH_STREAM = ("drop", "retry", "show")


class Operator:
    def __init__(self, land: Land, seed: int, complaints: Path) -> None:
        self._land = land
        self._chance = random.Random(seed)
        self._complaints = complaints

    def begin(self) -> int:
        """In a child of this process; its pid."""
        child = os.fork()
        if child == 0:
            try:
                while True:
                    self._type()
            finally:
                os._exit(70)
        return child

    def _type(self) -> None:
        words = self._words()
        if words is None:
            let_pass(0.1)
            return
        try:
            said = self._land.say(*words, check=False)
        except AssertionError as error:  # a traceback
            self._complain(f"kingdom {' '.join(words)}: {error}")
            return
        if said.code not in EXIT_CODES and said.code >= 0:
            self._complain(f"kingdom {' '.join(words)}: {said}")

    def _words(self) -> list[str] | None:
        """None if there is nothing of the kind just now."""
        weights = [often for _, often in COMMANDS.values()]
        (typed,) = self._chance.choices(list(COMMANDS), weights)
        place = self._chance.choice(COMMANDS[typed][0])
        if not place:
            return list(typed)
        if place == "roles":
            return [*typed, self._chance.choice(self._land.roles())]
        found = list(self._ids(place))
        if not found:
            return None
        id_ = self._chance.choice(found)
        if typed[-1] in _WITH_STREAM and len(typed) > 1:
            id_ = f"{place.partition('/')[0]}/{id_}"
        return [*typed, id_, *([ANSWER] if typed == ("answer",) else [])]

    def _ids(self, place: str) -> Iterator[str]:
        root = "state" if place.startswith("results") else "queue"
        for name in names(self._land, f"{root}/{place}"):
            yield name.removesuffix(".json")

    def _complain(self, sentence: str) -> None:
        with self._complaints.open("a") as file:
            file.write(sentence.replace("\n", " | ") + "\n")
