"""A program that ends before it began: what the user must mend, and what may work another time."""

from __future__ import annotations

from pathlib import Path

import pytest

from kingdom.engines.codex import judging, stream
from kingdom.engines.port import Evidence

SANDBOX = (
    "Error: thread/start: thread/start failed: error creating thread: failed to load AGENTS.md "
    "instructions for environment `local`: fs sandbox helper failed with status exit status: 1: "
    "bwrap: Can't bind mount /bindfile on /newroot/home/.config: No such file or directory"
)


@pytest.mark.parametrize(
    ("words", "failure"),
    [
        ("error: unexpected argument '--jsno' found", "engine_refused"),
        ("Error loading config.toml: invalid type", "engine_refused"),
        ("Error: model_provider mine not found", "engine_refused"),
        (SANDBOX, None),  # two of its helpers met; the general calls it a crash and tries again
    ],
)
def test_only_what_a_person_must_mend_is_not_tried_again(
    scratch: Path, words: str, failure: str | None
) -> None:
    out, err = scratch / "out", scratch / "err"
    out.write_text("")
    err.write_text(f"{words}\n")
    evidence = Evidence("task-1", 1, None, str(out), str(err), has_result=False)
    assert judging.judge(evidence, stream.read(str(out))).failure == failure
