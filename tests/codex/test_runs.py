"""Runs of the real program that go as they should."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.codex.camp import RESULT, TASK, Camp
from tests.support.git_remotes import git
from tests.support.scripted_model import both, say
from tests.support.scripted_responses import command, edit, script

SCHEMA = {
    "type": "object",
    "properties": {
        "status": {"type": "string"},
        "summary": {"type": "string"},
        "reason": {"type": "string"},
    },
    "required": ["status", "summary"],
}


def test_a_soldier_edits_a_file_and_reports(camp: Camp) -> None:
    order = camp.order()
    camp.model.says(
        both(say("I write."), edit("a.txt", "hi")),
        command("cp a.txt b.txt"),
        camp.writes_result(order),
        say("All done."),
    )
    run = camp.run(order)
    assert run.verdict.failure is None
    assert run.verdict.last_message == "All done."
    assert run.verdict.session_id == run.lines[0]["thread_id"]
    assert Path(order.workspace, "b.txt").read_text("utf-8") == "hi\n"
    assert json.loads(Path(order.result_path).read_text("utf-8")) == RESULT
    assert os.path.exists(order.heartbeat_path)
    assert len(camp.model.requests) == 4  # with a result there was nothing to ask for
    assert run.metrics == {
        "tokens": {"input": 400, "output": 80, "cache_read": 0, "cache_creation": 0},
        "session_tokens": {"input": 400, "output": 80, "cache_read": 0, "cache_creation": 0},
        "turns": 5,
    }


@pytest.mark.long
def test_one_that_ends_without_a_result_is_asked_once(camp: Camp) -> None:
    order = camp.order()
    camp.model.says(say("Finished."), camp.writes_result(order), say("Written."))
    run = camp.run(order)
    assert run.verdict.failure is None
    assert run.evidence.has_result
    assert order.result_path in camp.model.requests[1].text


@pytest.mark.long
def test_one_that_never_writes_a_result_is_not_asked_again(camp: Camp) -> None:
    run = camp.play(say("Finished."))
    assert len(camp.model.requests) == 2
    assert run.exit["code"] == 0
    assert run.verdict.failure is None
    assert run.verdict.result is None
    assert run.verdict.last_message == "Finished."


@pytest.mark.long
def test_a_result_in_the_final_message_counts(camp: Camp) -> None:
    said = {"status": "skipped", "summary": "nothing to do", "reason": "a draft"}
    run = camp.play(say(f"Here it is:\n```json\n{json.dumps(said)}\n```"))
    assert run.verdict.result == {"task_id": TASK, **said}


@pytest.mark.long
def test_a_structured_result_counts_and_nothing_more_is_asked(camp: Camp) -> None:
    said = {"status": "success", "summary": "fine"}
    run = camp.play(say(json.dumps({**said, "reason": None})), result_schema=SCHEMA)
    assert run.verdict.failure is None
    assert run.verdict.result == {"task_id": TASK, **said}
    (request,) = camp.model.requests
    asked = request.body["text"]["format"]
    assert asked["strict"]
    assert asked["schema"]["required"] == ["status", "summary", "reason"]


@pytest.mark.long
def test_a_prompt_and_a_guide_of_100_kb_arrive_whole(camp: Camp) -> None:
    guide = "x" * 100_000 + " the end of the guide"
    (camp.workspace.parent / "AGENTS.md").write_text(guide, "utf-8")
    camp.play(say("Read."), prompt="x" * 100_000 + " the end of it")
    assert "the end of it" in camp.model.requests[0].text
    assert "the end of the guide" in camp.model.requests[0].text


@pytest.mark.long
def test_the_guide_is_read_beside_the_repository_s_own(camp: Camp) -> None:
    """Whatever the repository has: files of the guide's and the task's names, a git of its own."""
    git(camp.workspace, "init", "-q")
    (camp.workspace.parent / "AGENTS.md").write_text("the kingdom's words", "utf-8")
    for name in ("AGENTS.md", ".kingdom-task.json"):
        (camp.workspace / name).write_text("the repository's words", "utf-8")
    (camp.workspace / TASK).mkdir()
    (camp.workspace / TASK / "AGENTS.md").write_text("no", "utf-8")
    camp.play(say("Read."))
    said = camp.model.requests[0].text
    assert 0 < said.index("the kingdom's words") < said.index("the repository's words")


@pytest.mark.long
def test_several_share_one_home(camp: Camp) -> None:
    orders = [camp.order(prompt=f"word-{number}") for number in range(3)]
    for number, order in enumerate(orders):
        camp.model.says(camp.writes_result(order), say(f"I was {number}."), to=f"word-{number}")
    begun = [camp.start(order) for order in orders]
    said = [one.ended().verdict.last_message for one in begun]
    assert said == ["I was 0.", "I was 1.", "I was 2."]


@pytest.mark.long
def test_progress_tells_what_it_does_and_the_turn(camp: Camp) -> None:
    camp.model.says(both(say("First."), command("echo one")), command("sleep 60"))
    begun = camp.start(camp.order())
    begun.until_it("command: sleep 60 (turn 3)")
    begun.wrapper.terminate()
    assert begun.ended().exit["reason"] == "asked"


@pytest.mark.long
def test_a_home_of_its_own_keeps_everything(camp: Camp) -> None:
    own = camp.home / "own"
    own.mkdir()
    first = camp.play(say("Fine."), prompt="first words", home=str(own))
    run = camp.play(
        say("Fine."), say("Again."), session_id=first.verdict.session_id, home=str(own), attempt=2
    )
    assert run.verdict.session_id == first.verdict.session_id
    assert "first words" in camp.model.requests[-1].text
    assert not (camp.home / ".codex").exists()


@pytest.mark.long
def test_the_user_s_settings_count_only_where_wanted(camp: Camp) -> None:
    home = camp.home / ".codex"
    home.mkdir()
    (home / "config.toml").write_text('model = "the-user-s"\n', "utf-8")
    camp.play(say("Fine."))
    assert camp.model.requests[-1].body["model"] != "the-user-s"
    camp.engine_with(user_config=True)
    camp.play(say("Fine."))
    assert camp.model.requests[-1].body["model"] == "the-user-s"
    camp.engine_with(user_config=True, model="ours")
    camp.play(say("Fine."))
    assert camp.model.requests[-1].body["model"] == "ours"


@pytest.mark.long
def test_no_hook_runs_that_nobody_approved(camp: Camp) -> None:
    """Neither the user's nor the repository's, whose settings do not count either."""
    ran = camp.home / "ran"
    hook = {"hooks": [{"type": "command", "command": f"touch '{ran}'", "timeout": 5}]}
    written = json.dumps({"hooks": {"SessionStart": [hook], "Stop": [hook]}})
    git(camp.workspace, "init", "-q")
    for place in (camp.workspace / ".codex", camp.home / ".codex"):
        place.mkdir()
        (place / "hooks.json").write_text(written, "utf-8")
    (camp.workspace / ".codex" / "config.toml").write_text('model = "evil"\n', "utf-8")
    run = camp.play(script("text(1)"), say("Fine."))
    assert run.verdict.last_message == "Fine."
    (camp.home / ".codex" / "hooks.json").unlink()
    run = camp.play(script("text(1)"), say("Fine."))
    assert run.verdict.last_message == "Fine."
    assert not ran.exists()
    assert camp.model.requests[-1].body["model"] != "evil"


@pytest.mark.long
def test_the_user_s_own_login_is_used(camp: Camp) -> None:
    home = camp.home / ".codex"
    home.mkdir()
    (home / "auth.json").write_text('{"OPENAI_API_KEY": "the-user-s"}', "utf-8")
    login = {"model_providers.scripted.requires_openai_auth": True}
    provider = camp.model.provider()
    del provider["model_providers.scripted"]["env_key"]
    camp.engine_with(config={**provider, **login})
    environment = {k: v for k, v in camp.order().environment.items() if k != "OPENAI_API_KEY"}
    run = camp.play(say("Fine."), environment=environment)
    assert run.verdict.failure is None
    assert camp.model.requests[0].headers["authorization"] == "Bearer the-user-s"
