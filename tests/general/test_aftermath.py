"""What a general waits for around a soldier, such as a GitHub that is down, and rests."""

from __future__ import annotations

import os
import select
import shutil
import threading
from pathlib import Path

from tests.support.barracks import Barracks
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
        f'echo two > a.txt; touch "$(git rev-parse --git-common-dir)/refs/kingdom"\n{reported}',
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
