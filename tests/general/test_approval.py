"""Actions that a person approves first: asked, done once if approved, and else never."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kingdom.envoy.answers import answer_event
from kingdom.envoy.questions import Question
from kingdom.general.actions.approval import REASON, Approval, is_given
from kingdom.general.grounds import Aftermath
from kingdom.general.verdicts import with_aftermath
from kingdom.models.action import Comment
from kingdom.models.result import Killed, Success
from kingdom.outbound.scan import digest
from kingdom.runtime import held_actions
from kingdom.runtime.held_actions import Held, HeldActions
from kingdom.store.formats import write_format
from kingdom.store.paths import BaseDir
from tests.support.barracks import Barracks
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.cli import kingdom
from tests.support.court import Court
from tests.support.git_remotes import BareRemote
from tests.support.github_server import TOKEN, FakeGitHub
from tests.support.kingdom import START
from tests.support.puppets import environment
from tests.support.soldiers import report

COMMIT = "git add -A && git -c user.name=a -c user.email=a@b.c commit -qm more\n"
COMMENT = {"do": "comment", "body": "Looked at it."}
PULL = {"do": "pull_request", "title": "Fix it", "body": "So."}
OUTSIDE = {
    "actions": ["comment", "push", "pull_request"],
    "by_trust": {"outside": {"approve": ["push"]}, "fork": {"approve": ["comment"]}},
}
ORIGINAL = "task-20260101-001"
ENV = environment(GH_TOKEN=TOKEN, DEPLOY_TOKEN="planted-hQ7xVbN8sLd2")


@pytest.fixture
def hub(barracks: Barracks) -> Iterator[FakeGitHub]:
    write_format(barracks.base)
    barracks.package(permissions=OUTSIDE)
    with FakeGitHub() as made:
        barracks.configure("sentinel", polling={"github": {"api_url": made.url}})
        yield made


def result_of(barracks: Barracks, id_: str) -> dict[str, Any]:
    with barracks.general(env=ENV) as life:
        return life.result_of(id_)


def branches(remote: BareRemote) -> dict[str, str]:
    return {name: sha for name, sha in remote.refs().items() if "kingdom/" in name}


# The whole journey


def answer(court: Court, id_: str, text: str, **more: Any) -> dict[str, Any]:
    """What the king made of it: the event as it is then."""
    (asked,) = [one for one in court.all("messages") if one["type"] == "human_input_request"][-1:]
    question = Question(
        msg_id=asked["id"], question="", asked_at=court.clock.now(), channel="", thread_ts=""
    )
    now = court.clock.now()
    values = {"answered_by": "ann", "source": "slack", "at": now, "now": now}
    event = answer_event(id_, question, text, **values)
    court.send(event.model_copy(update=more))
    court.king().step()
    return court.event(event.id)


def approve(court: Court, id_: str) -> str:
    """The task that carries it out."""
    court.clock.shift(2)  # type: ignore[attr-defined]  # an answer's id has its second
    return str(answer(court, id_, "approve")["task_id"])


def test_a_stranger_s_pull_request_is_opened_once_a_member_has_approved_its_diff(
    barracks: Barracks, hub: FakeGitHub, tmp_path: Path
) -> None:
    remote = BareRemote(tmp_path / "acme" / "web.git", {"a.txt": "one"})
    said = {"status": "success", "summary": "done", "actions": [COMMENT, {"do": "push"}, PULL]}
    url = f"{remote.path.parent.parent}/{{repo}}.git"
    script = f"seq 3000 > '``` b.txt'\n{COMMIT}{report(said)}"
    barracks.command(script, git={"url": url, "use_gh": False})
    told = {"type": "github.issue.assigned", "payload": {"number": 4}, "trust": "outside"}
    (id_,) = barracks.publish(repo="acme/web", **told)
    asked = result_of(barracks, id_)
    assert (asked["status"], asked["options"], asked["default"]) == (
        "needs_human", ["approve", "reject"], "reject",
    )  # fmt: skip
    assert (hub.counts()["comments"], hub.counts().get("pulls", 0)) == (1, 0)
    assert branches(remote) == {}
    question = asked["question"]
    assert question.startswith("Approve push, pull_request for acme/web#4 (work of outside)?\n")
    assert "Fix it\nSo." in question
    assert "''' b.txt +3000 -0" in question, "its code cannot end the block"
    assert question.count("```") == 2, "the diff is shown once"
    assert len(question) < 7000
    assert f"all of it: kingdom ask {id_}" in question

    court = Court(barracks.base, barracks.clock, keep=True)  # type: ignore[arg-type]
    court.king().step()
    whole = kingdom("ask", id_, base=barracks.base).out
    assert "\n+3000\n" in whole
    assert f"kingdom answer {id_} approve" in whole
    told = json.loads(kingdom("ask", id_, "--json", base=barracks.base).out)
    assert [one["action"] for one in told["approves"]] == ["push", "pull_request"]
    assert json.loads(kingdom("status", "--json", base=barracks.base).out)["held_actions"] == []
    stranger = answer(court, id_, "approve", trust="outside")
    assert (stranger["status"], stranger["reason"]) == ("failed", "Only a member may approve it.")

    next_ = approve(court, id_)
    repo = barracks.workspace(id_) / "repo"
    subprocess.run(f"echo late > late.txt\n{COMMIT}", shell=True, check=True, cwd=repo)
    again = result_of(barracks, next_)
    assert (again["status"], branches(remote)) == ("needs_human", {}), "that was not shown"
    assert "late.txt +1 -0" in again["question"]
    court.king().step()
    next_ = approve(court, next_)
    head = (repo / ".git" / "refs" / "heads" / "kingdom" / id_).read_text().strip()
    done = result_of(barracks, next_)
    assert (done["status"], "held" in done) == ("success", False)
    assert done["summary"].startswith("ann approved it.\n")
    assert hub.counts() | {"comments": 1, "pulls": 1} == hub.counts()
    assert list(branches(remote).values()) == [head]
    court.king().step()
    assert held_actions.tasks(barracks.base) == []
    court.close()


# What becomes of an answer


@pytest.mark.parametrize(
    ("result", "status"),
    [
        (Success(task_id=ORIGINAL, summary="done", memory_updates=["l"]), "needs_human"),
        (Killed(task_id=ORIGINAL, summary="s", error="e", error_code="cancelled"), "killed"),
    ],
)
def test_a_task_that_was_cancelled_meanwhile_asks_nothing(
    result: Success | Killed, status: str
) -> None:
    asks = Approval("May it?", "approve", "reject")
    found = with_aftermath(result, Aftermath(held=("push: It waits.",), asks=asks))
    assert (found.status, found.held) == (status, ["push: It waits."])
    assert (found.memory_updates, found.error) == (result.memory_updates, result.error)


@pytest.mark.parametrize(
    ("said", "given"),
    [("approve", True), ("승인", True), ("reject", False), ("Approve it?", False), (None, False)],
)
def test_only_the_word_itself_approves(said: object, given: bool) -> None:
    assert is_given(said) is given


def hold(barracks: Barracks, *held: Held, body: str = COMMENT["body"]) -> None:
    action = COMMENT | {"body": body}
    found = HeldActions(ORIGINAL, "soldier-1", held, [action], {})
    held_actions.write(barracks.base, found, barracks.clock.now())


def as_shown(body: str = COMMENT["body"]) -> Held:
    """As the general wrote it when it asked."""
    action = Comment(do="comment", body=body)
    exactly = digest({"action": action.model_dump(), "commit": None})
    return Held("comment:1", REASON, exactly, body)


def approval(barracks: Barracks, answer: str, by: str = "ann", **task: Any) -> str:
    payload = {"answer": answer, "answered_by": by, "original": {"number": 4}}
    told = {"type": "approval", "trust": "fork", "repo": "acme/web", "payload": payload}
    return barracks.publish(original_task_id=ORIGINAL, **(told | task))[0]


@pytest.mark.parametrize(
    ("answer", "by", "held", "body", "status", "words", "posted", "left"),
    [
        ("reject", "default", "shown", "Fine.", "skipped", "Nobody approved it in time.", 0, []),
        ("reject", "ann", "nothing", "Fine.", "skipped", "ann rejected it.", 0, []),
        ("approve", "ann", "nothing", "Fine.", "failed", "", 0, []),
        ("approve", "ann", "other", "Fine.", "needs_human", "ann approved it.", 0, ["new"]),
        ("approve", "ann", "shown", ENV["DEPLOY_TOKEN"], "success", "ann approved", 0, ["new"]),
        ("reject", "ann", "secret", "Fine.", "skipped", "ann rejected it.", 0, [ORIGINAL]),
    ],
)
def test_what_becomes_of_an_answer(
    barracks: Barracks, hub: FakeGitHub, answer: str, by: str, held: str, body: str, status: str,
    words: str, posted: int, left: list[str],
) -> None:  # fmt: skip
    """`other`: what is there now is not what was shown, so it is asked anew. What holds a secret is
    held whoever approved it, and stays so whoever rejects the rest."""
    one = as_shown(body)
    kinds = {
        "shown": [one],
        "other": [one._replace(digest="another")],
        "secret": [Held("comment:2", "A GitHub token in body.", "x"), one],
        "nothing": [],
    }
    if kinds[held]:
        hold(barracks, *kinds[held], body=body)
    if by == "default":  # without an engine no soldier would begin
        barracks.configure("system", runtime={"engine": "command"})
    id_ = approval(barracks, answer, by)
    result = result_of(barracks, id_)
    assert result["status"] == status
    assert words in result["summary"]
    assert len(hub.comments) == posted
    assert held_actions.tasks(barracks.base) == [id_ if one == "new" else one for one in left]


@pytest.mark.parametrize(("answer", "posted"), [("approve", 1), ("reject", 0)])
def test_a_general_killed_at_any_point_does_what_was_approved_once(
    barracks: Barracks, hub: FakeGitHub, answer: str, posted: int
) -> None:
    hold(barracks, as_shown())
    id_ = approval(barracks, answer)

    def killed(point: int) -> None:
        with observed(Killer(point, after=bool(point % 2), passing_over=CHANGE_NOTHING)):
            result_of(barracks, id_)

    kills = sum(in_child(partial(killed, point)) != 0 for point in range(4, 60, 13))
    assert kills > 2
    with barracks.general(env=ENV) as life:

        def passes() -> object:
            barracks.clock.shift(1)  # what may be on its way is waited for
            return barracks.result(id_)

        life.until(passes, "a result")
    assert len(hub.comments) == posted
    assert held_actions.tasks(barracks.base) == []


def test_what_an_earlier_version_held_is_read(base: BaseDir) -> None:
    found = HeldActions(ORIGINAL, "soldier-1", (as_shown(),), [COMMENT], {})
    held_actions.write(base, found, START)
    path = Path(held_actions.directory(base), f"{ORIGINAL}.json")
    content = json.loads(path.read_text("utf-8"))
    del content["held"][0]["shown"]
    path.write_text(json.dumps(content), "utf-8")
    read = held_actions.read(base, ORIGINAL)
    assert read is not None
    assert (read.approved, list(read.released)) == ({}, ["comment:1"])
    assert held_actions.stopped_tasks(base) == [ORIGINAL]
