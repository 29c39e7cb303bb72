"""What a general waits for around a soldier, such as a GitHub that is down, and rests."""

from __future__ import annotations

import os
import select
import shutil
import threading
from collections import Counter
from pathlib import Path

from tests.support.barracks import Barracks, Life
from tests.support.git_remotes import BareRemote
from tests.support.github_server import TOKEN, FakeGitHub
from tests.support.loopback import Fault
from tests.support.puppets import environment
from tests.support.soldiers import report

COMMENT = {"do": "comment", "body": "Looked at it."}


def test_a_general_that_waits_to_post_rests_meanwhile(barracks: Barracks, tmp_path: Path) -> None:
    BareRemote(tmp_path / "acme" / "web.git", {"a.txt": "one"})
    barracks.package(permissions={"actions": ["comment"]})
    barracks.command(
        report({"status": "success", "summary": "done", "actions": [COMMENT]}),
        git={"url": f"{tmp_path}/{{repo}}.git", "use_gh": False},
    )
    let_go = threading.Event()
    with FakeGitHub() as hub:
        barracks.configure("sentinel", polling={"github": {"api_url": hub.url}})
        hub.faults = [Fault("GET", held=let_go)]
        (id_,) = barracks.publish(
            repo="acme/web", payload={"number": 4}, type="github.issue.assigned", trust="member"
        )
        with barracks.general(env=environment(GH_TOKEN=TOKEN)) as life:
            life.until(lambda: hub.asked, "GitHub is asked")
            life.until(lambda: barracks.sessions() == [], "its soldier has ended")
            ready, _, _ = select.select(life.role.descriptors(), [], [], 0)
            assert ready == []
            let_go.set()
            assert life.result_of(id_)["status"] == "success"
    assert hub.counts()["comments"] == 1


def test_a_general_that_waits_for_a_repository_rests_meanwhile(
    barracks: Barracks, tmp_path: Path
) -> None:
    BareRemote(tmp_path / "acme" / "web.git", {"a.txt": "one"})
    asked, gate = tmp_path / "asked", tmp_path / "gate"
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text(
        f"#!/bin/sh\ntouch {asked}\nwhile [ ! -e {gate} ]; do sleep 0.05; done\n"
        f'exec {shutil.which("git")} "$@"\n',
        "utf-8",
    )
    slow.chmod(0o755)
    barracks.package()
    barracks.command(
        report({"status": "success", "summary": "done"}),
        git={"url": f"{tmp_path}/{{repo}}.git", "use_gh": False},
    )
    (id_,) = barracks.publish(repo="acme/web", trust="member")
    path = f"{slow.parent}:{os.environ['PATH']}"
    with barracks.general(env=environment(PATH=path)) as life:
        life.until(asked.exists, "git is asked")
        assert life.role.step() > 1
        gate.touch()
        assert life.result_of(id_)["status"] == "success"


def test_what_was_done_is_told_also_when_what_is_left_cannot_be_kept(
    barracks: Barracks, tmp_path: Path
) -> None:
    """A file where refs are to be: git can keep none there."""
    BareRemote(tmp_path / "acme" / "web.git", {"a.txt": "one"})
    barracks.package(permissions={"actions": ["comment"]})
    reported = report({"status": "success", "summary": "done", "actions": [COMMENT]})
    barracks.command(
        'echo two > a.txt; touch "$(cat .git/objects/info/alternates)/../refs/kingdom"\n'
        f"{reported}",
        git={"url": f"{tmp_path}/{{repo}}.git", "use_gh": False},
    )
    with FakeGitHub() as hub:
        barracks.configure("sentinel", polling={"github": {"api_url": hub.url}})
        (id_,) = barracks.publish(
            repo="acme/web", payload={"number": 4}, type="github.issue.assigned", trust="member"
        )
        with barracks.general(env=environment(GH_TOKEN=TOKEN)) as life:
            result = life.result_of(id_)
    assert hub.counts()["comments"] == 1
    assert result["status"] == "success"
    place = barracks.workspace(id_) / "repo"
    _, done, left = result["summary"].split("\n", 2)
    assert done.startswith("- comment: http")
    assert left.startswith(f"- what it left in {place} could not be kept: ")
    assert place.joinpath("a.txt").read_text("utf-8") == "two\n"


def test_a_login_that_was_renewed_meanwhile_is_found(barracks: Barracks, tmp_path: Path) -> None:
    BareRemote(tmp_path / "acme" / "web.git", {"a.txt": "one"})
    barracks.package(permissions={"actions": ["comment"]})
    barracks.command(
        report({"status": "success", "summary": "done", "actions": [COMMENT]}),
        git={"url": f"{tmp_path}/{{repo}}.git", "use_gh": False},
    )
    gh, login = tmp_path / "bin" / "gh", tmp_path / "login"
    gh.parent.mkdir()
    gh.write_text(f"#!/bin/sh\ncat {login}\n", "utf-8")
    gh.chmod(0o755)
    told = {"payload": {"number": 4}, "type": "github.issue.assigned", "trust": "member"}
    path = f"{gh.parent}:{os.environ['PATH']}"
    with FakeGitHub() as hub, barracks.general(env=environment(PATH=path)) as life:
        barracks.configure("sentinel", polling={"github": {"api_url": hub.url}})
        barracks.clock.shift(2)
        for number, token in enumerate(("first-login", "second-login"), 1):
            hub.token = token
            login.write_text(f"{token}\n", "utf-8")
            (id_,) = barracks.publish(repo="acme/web", **told)
            assert "not done" not in life.result_of(id_)["summary"]
            assert hub.counts()["comments"] == number


def test_what_was_just_fetched_is_remembered_until_the_settings_change(
    barracks: Barracks, tmp_path: Path
) -> None:
    BareRemote(tmp_path / "acme" / "web.git", {"a.txt": "one"})
    asked, noting = tmp_path / "asked", tmp_path / "bin" / "git"
    noting.parent.mkdir()
    noting.write_text(
        f'#!/bin/sh\necho "$1" >> {asked}\nexec {shutil.which("git")} "$@"\n', "utf-8"
    )
    noting.chmod(0o755)

    def asked_for(fresh_seconds: float, life: Life, tasks: int) -> Counter[str]:
        asked.write_text("", "utf-8")
        url = f"{tmp_path}/{{repo}}.git"
        git = {"url": url, "use_gh": False, "fresh_seconds": fresh_seconds}
        barracks.command(report({"status": "success", "summary": "done"}), git=git)
        barracks.clock.shift(2)  # the configuration is looked at once a second
        for _ in range(tasks):
            (id_,) = barracks.publish(repo="acme/web", trust="member")
            assert life.result_of(id_)["status"] == "success"
        return Counter(asked.read_text("utf-8").split())

    barracks.package()
    path = f"{noting.parent}:{os.environ['PATH']}"
    with barracks.general(env=environment(PATH=path)) as life:
        first = asked_for(600.0, life, tasks=3)
        assert (first["fetch"], first["version"]) == (1, 1)  # the clone's own
        then = asked_for(0.0, life, tasks=2)
        assert (then["fetch"], then["version"]) == (2, 1)
