"""The camp of the other engine's soldiers, for Codex: the real program, a scripted model."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kingdom.engines.codex.engine import CodexEngine
from kingdom.engines.port import Order
from tests.claude import camp
from tests.claude.camp import RESULT, TASK, Run, Soldier
from tests.support.scripted_model import Turn
from tests.support.scripted_responses import ScriptedResponses, edit

__all__ = ["RESULT", "TASK", "Camp", "Run", "Soldier", "pitched"]


class Camp(camp.Camp):
    model: ScriptedResponses

    def __init__(self, place: Path, model: ScriptedResponses, program: str) -> None:
        super().__init__(place, model, program)
        self.engine_with()

    def engine_with(self, **options: Any) -> None:
        config = {**self.model.provider(), **options.pop("config", {})}
        self.engine = CodexEngine(
            self.program, os.environ, self.base.root, config=config, **options
        )

    def writes_result(self, order: Order) -> Turn:
        return edit(order.result_path, json.dumps(RESULT))


@contextmanager
def pitched(place: Path, program: str) -> Iterator[Camp]:
    with ScriptedResponses() as model:
        made = Camp(place, model, program)
        try:
            yield made
        finally:
            made.close()
