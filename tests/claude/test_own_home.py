"""Sessions lie in the task's own directory; the user's home is left as it was."""

from __future__ import annotations

import json
from pathlib import Path

from tests.claude.test_in_a_kingdom import ended, model, realm, reports, send
from tests.support.cli import kingdom
from tests.support.kingdom import files
from tests.support.programs import new_claude
from tests.support.scripted_model import ScriptedModel, say, use
from tests.support.waiting import eventually

__all__ = ["model"]  # the fixture


def tree(place: Path) -> dict[str, tuple[float, bytes]]:
    """All that is in it, hidden or not: when it was changed, and to what."""
    return {
        str(path.relative_to(place)): (
            path.stat().st_mtime,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in [place, *place.rglob("*")]
    }


def test_a_session_goes_on_after_a_question_and_nothing_in_the_user_s_home_is_touched(
    scratch: Path, model: ScriptedModel
) -> None:
    model.says(
        use("Write", file_path="made.txt", content="hi\n"),
        reports("needs_human", question="Blue?", options=["yes", "no"]),
        say("I asked."),
        reports(summary="Painted blue."),
        say("Bye."),
        to="paint",
    )
    claude = {"command": new_claude(), "max_retries": 0}
    system = {"runtime": {"engine": "claude", "claude": claude}}
    with realm(model, scratch, system=system) as base:
        home = scratch / "home"
        (home / ".claude").mkdir()
        (home / ".claude" / "settings.json").write_text(json.dumps({"model": "of the user"}))
        before = tree(home)
        task = ended(base, send(base, "paint"))["task_id"]
        own = Path(base.workspace, "gen-trial", task, ".engine", "member")
        (session,) = own.glob("projects/*/*.jsonl")
        eventually(lambda: task in kingdom("ask", base=base).out, "it is asked")
        assert kingdom("answer", task, "yes", base=base).code == 0
        answer = f"evt-slack-response-{task}"

        def answered() -> list[str]:
            return [one for one in files(base).get("events/completed", []) if answer in one]

        eventually(answered, "the answer was worked on")
        result = ended(base, answered()[0])
        assert (result["status"], result["summary"]) == ("success", "Painted blue.")
        assert result["metrics"]["attempts"] == 1
        assert [*own.glob("projects/*/*.jsonl")] == [session], "it is the same session"
        assert tree(home) == before
    last = model.requests[-1].text
    assert "I asked." in last, "it remembers"
    assert "of the user" not in last
