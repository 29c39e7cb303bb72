"""What may hold a secret is neither posted nor pushed: it is held until a person decides."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kingdom.outbound.mentions import JOINER
from kingdom.runtime import held_actions
from kingdom.store.formats import write_format
from tests.support.barracks import Barracks
from tests.support.cli import kingdom
from tests.support.git_remotes import BareRemote
from tests.support.github_server import TOKEN, FakeGitHub
from tests.support.puppets import environment
from tests.support.soldiers import report

SECRET = "planted-hQ7xVbN8sLd2"
COMMIT = 'git add -A && git -c user.name=a -c user.email=a@b.c commit -qm "{message}"\n'
ADDED = f"echo {SECRET} > x\n{COMMIT.format(message='one')}"
COMMENT = {"do": "comment", "body": "Looked at it, @ada."}
PULL = {"do": "pull_request", "title": "Fix it", "body": "So."}
RANDOM = "kR8vTq2ZxWm5NcJ7LpYb3HsDfGa9Ue4i"


@pytest.fixture
def remote(tmp_path: Path) -> BareRemote:
    return BareRemote(tmp_path / "acme" / "web.git", {"a.txt": "one", "known.txt": RANDOM})


@pytest.fixture
def hub(barracks: Barracks) -> Iterator[FakeGitHub]:
    write_format(barracks.base)
    with FakeGitHub() as made:
        barracks.configure("sentinel", polling={"github": {"api_url": made.url}})
        yield made


def run(barracks: Barracks, remote: BareRemote, script: str, *actions: Any, **task: Any) -> Any:
    barracks.package(permissions={"actions": ["comment", "review", "push", "pull_request"]})
    said = {"status": "success", "summary": "done", "actions": list(actions)}
    url = f"{remote.path.parent.parent}/{{repo}}.git"
    barracks.command(f"{script}\n{report(said)}", git={"url": url, "use_gh": False})
    told = {"payload": {"number": 4}, "type": "github.issue.assigned", "trust": "member"}
    (id_,) = barracks.publish(repo="acme/web", **(told | task))
    with barracks.general(env=environment(GH_TOKEN=TOKEN, DEPLOY_TOKEN=SECRET)) as life:
        return id_, life.result_of(id_)


def release(barracks: Barracks, original: str, **task: Any) -> Any:
    told = {"payload": {"number": 4}, "type": "release", "trust": "member"}
    (id_,) = barracks.publish(repo="acme/web", original_task_id=original, **(told | task))
    with barracks.general(env=environment(GH_TOKEN=TOKEN, DEPLOY_TOKEN=SECRET)) as life:
        return life.result_of(id_)


def branches(remote: BareRemote) -> list[str]:
    return [name for name in remote.refs() if name.startswith("refs/heads/kingdom")]


@pytest.mark.provokes("task.actions_held")
def test_what_is_held_lies_with_its_task_and_is_done_once_it_was_let_pass(
    barracks: Barracks, remote: BareRemote, hub: FakeGitHub
) -> None:
    reversed_ = SECRET[::-1]
    script = f"echo 'x = \"{reversed_}\"' > b.py\n" + COMMIT.format(message="more")
    second = COMMENT | {"body": f"Use {SECRET} there."}
    id_, result = run(barracks, remote, script, COMMENT, second, PULL)
    assert hub.counts()["comments"] == 1, "what holds no secret is done"
    assert (hub.counts().get("pulls", 0), branches(remote)) == (0, [])
    assert result["status"] == "success"
    first, pull = result["held"]
    assert first == "comment: The value of DEPLOY_TOKEN in body."
    assert pull == "pull_request: The value of DEPLOY_TOKEN, reversed in b.py, line 1."
    assert f"kingdom release {id_}" in result["summary"]
    assert SECRET not in json.dumps(barracks.events())
    (told,) = barracks.events("task.actions_held")
    assert told["data"]["actions"] == ["comment", "pull_request"]
    place = held_actions.directory(barracks.base)
    assert os.stat(place).st_mode & 0o077 == 0
    assert held_actions.tasks(barracks.base) == [id_]
    status = json.loads(kingdom("status", "--json", base=barracks.base).out)
    assert status["held_actions"] == [id_]
    assert f"kingdom release {id_}" in kingdom("why", id_, base=barracks.base).out

    found = held_actions.read(barracks.base, id_)
    done = release(barracks, id_)
    assert done["status"] == "success"
    assert "held" not in done
    bodies = [one["body"] for one in hub.comments]
    assert [SECRET in body for body in bodies] == [False, True], "as it is, and once"
    assert len(branches(remote)) == 1
    assert held_actions.tasks(barracks.base) == []

    assert found is not None
    held_actions.write(barracks.base, found, barracks.clock.now())  # as a crash would leave it
    assert release(barracks, id_)["status"] == "success"
    assert (len(hub.comments), held_actions.tasks(barracks.base)) == (2, [])
    late = release(barracks, id_)
    assert (late["status"], late["error_code"]) == ("failed", "nothing_held")
    assert len(hub.comments) == 2


def test_another_commit_than_the_one_that_was_let_pass_is_held_again(
    barracks: Barracks, remote: BareRemote, hub: FakeGitHub
) -> None:
    script = f"echo {SECRET} > b.py\n" + COMMIT.format(message="more")
    id_, result = run(barracks, remote, script, {"do": "push"})
    assert result["held"] == ["push: The value of DEPLOY_TOKEN in b.py, line 1."]
    found = held_actions.read(barracks.base, id_)
    assert found is not None
    one = found.held[0]._replace(digest="another")
    held_actions.write(barracks.base, found._replace(held=(one,)), barracks.clock.now())
    again = release(barracks, id_)
    assert again["held"] == result["held"]
    assert branches(remote) == []
    assert held_actions.tasks(barracks.base) == [again["task_id"]]


@pytest.mark.provokes("task.actions_dropped")
def test_a_person_decides_against_it(
    barracks: Barracks, remote: BareRemote, hub: FakeGitHub
) -> None:
    id_, _ = run(barracks, remote, "", COMMENT | {"body": SECRET})
    said = kingdom("queue", "drop", id_, base=barracks.base)
    assert said.out == f"What was held of {id_} will not be done.\n"
    assert held_actions.tasks(barracks.base) == []
    assert hub.comments == []
    assert kingdom("release", id_, base=barracks.base).code == 1


@pytest.mark.parametrize(
    ("script", "what"),
    [
        (f"echo a > x\n{COMMIT.format(message='no secret')}", ""),
        (f"touch {SECRET}.txt\n" + COMMIT.format(message="m"), "the names of files"),
        (f"echo a > x\n{COMMIT.format(message=f'see {SECRET}')}", "the commits"),
        (f"{ADDED}rm x\n{COMMIT.format(message='two')}", "x, line 1"),
        (f"{ADDED}git update-ref refs/remotes/origin/mine HEAD", "x, line 1"),
    ],
    ids=["nothing", "name", "message", "taken back", "own ref"],
)
def test_all_that_a_push_would_bring_is_scanned(
    barracks: Barracks, remote: BareRemote, hub: FakeGitHub, script: str, what: str
) -> None:
    _, result = run(barracks, remote, script, {"do": "push"})
    held = (result.get("held") or [""])[0]
    assert what in held
    assert bool(held) == (branches(remote) == [])


@pytest.mark.parametrize(("trust", "is_held"), [("member", False), ("outside", True)])
def test_less_trusted_work_brings_no_new_random_strings_and_calls_nobody(
    barracks: Barracks, remote: BareRemote, hub: FakeGitHub, trust: str, is_held: bool
) -> None:
    script = f"echo {RANDOM[::-1]} > b.txt\n" + COMMIT.format(message="m")
    known = COMMENT | {"body": f"{RANDOM} is there, @ada."}
    _, result = run(barracks, remote, script, known, {"do": "push"}, trust=trust)
    assert bool(result.get("held")) is is_held
    assert (branches(remote) == []) is is_held
    [comment] = hub.comments
    assert (f"@{JOINER}ada" in comment["body"]) is is_held, "what the repository has is nothing new"
