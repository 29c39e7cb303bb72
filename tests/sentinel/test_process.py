"""The sentinel as a process, in a kingdom: watchers that do not wait for one another, what people
are told of them, and the commands."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kingdom.ops.status import status
from kingdom.store.paths import BaseDir
from tests.support.cli import environment, kingdom, one_sentence
from tests.support.github_server import TOKEN
from tests.support.kingdom import files, load
from tests.support.loopback import Fault
from tests.support.puppets import ended_afterwards, found_kingdom
from tests.support.waiting import eventually


@pytest.fixture
def hub() -> Iterator[Any]:
    from tests.support.notifications import Notifying

    with Notifying() as made:
        made._moments = datetime.now(UTC)
        yield made


@pytest.fixture
def here(base: BaseDir, hub: Any) -> Iterator[BaseDir]:
    found_kingdom(base, "gen-a")
    write(base, "king", {"polling": {"interval_seconds": 0.1}})
    watch(base, hub)
    with ended_afterwards(base):
        yield base


def write(base: BaseDir, name: str, content: object) -> None:
    path = Path(base.config, f"{name}.yaml")
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(content))
    fresh.rename(path)


TRUST = {"organisations": ["acme"]}


def watch(base: BaseDir, hub: Any, trust: Any = TRUST, **github: Any) -> None:
    settings = {"interval_seconds": 0.2, "api_url": hub.url} | github
    write(base, "sentinel", {"trust": trust, "polling": {"github": settings, "inbox": {}}})


def start(base: BaseDir, token: str | None = TOKEN) -> str:
    given = {"GH_TOKEN": token} if token else {}
    said = kingdom("start", base=base, env=given)
    assert said.code == 0
    return said.out


def watcher(base: BaseDir, name: str = "github") -> dict[str, Any]:
    return dict(status(base, environment())["watchers"].get(name, {}))


def notifications(base: BaseDir) -> list[str]:
    sent = [load(base, "messages/sent", one) for one in files(base).get("messages/sent", [])]
    return [one["content"] for one in sent if one["type"] == "notification"]


def drop(base: BaseDir, name: str) -> None:
    inbox = Path(base.path("queue", "inbox"))
    inbox.mkdir(exist_ok=True)
    (inbox / f".{name}").write_text(json.dumps({"id": f"evt-{name}", "type": "test.gen-a"}))
    (inbox / f".{name}").rename(inbox / f"{name}.json")


def ended(base: BaseDir, event: str) -> None:
    eventually(lambda: event in files(base).get("events/completed", []), f"{event} has ended")


def test_from_github_and_the_inbox_to_their_end(here: BaseDir, hub: Any) -> None:
    start(here)
    hub.pull(4)
    hub.notify(4)
    drop(here, "cron-1")
    ended(here, "evt-github-1004")
    ended(here, "evt-cron-1")
    said = kingdom("status", base=here).out
    assert "watching   github, looked" in said
    assert "1 event so far" in said
    for typed in ("https://github.example/acme/web/pull/4#issuecomment-1", "acme/web#4"):
        why = kingdom("why", typed, base=here).out
        assert "evt-github-1004  (events/completed)" in why
        assert "No general subscribes to github.pr.review_requested." in why
    elsewhere = kingdom("why", "https://gitlab.example/acme/web/issues/4", base=here).out
    assert "No event about acme/web#4 is kept here." in elsewhere


def test_one_that_hangs_delays_nobody(here: BaseDir, hub: Any) -> None:
    let_go = threading.Event()
    hub.faults.append(Fault("GET", path="/notifications", held=let_go, left=99))
    start(here)
    eventually(lambda: hub.asked, "GitHub is asked")
    for number in range(3):
        drop(here, f"cron-{number}")
        ended(here, f"evt-cron-{number}")
    assert kingdom("stop", base=here).code == 0
    let_go.set()


def test_a_wrong_token_is_told_once_and_once_more_when_it_is_over(here: BaseDir, hub: Any) -> None:
    hub.token = "ghp_renewed"
    start(here)
    eventually(lambda: notifications(here), "people are told")
    eventually(lambda: len(hub.asked) > 3, "it is tried again")
    (told,) = notifications(here)
    assert "The github watcher sees nothing just now." in told
    assert "401" in told
    assert TOKEN not in told
    assert watcher(here)["state"] == "trouble"
    assert "watching   github trouble: GitHub refuses (401)" in kingdom("status", base=here).out
    kingdom("restart", "king", base=here)
    hub.token = TOKEN
    eventually(lambda: len(notifications(here)) > 1, "that it is over, too")
    assert sorted(notifications(here)) == sorted([told, "The github watcher sees again."])


def test_a_restart_is_no_end_of_trouble(here: BaseDir, hub: Any) -> None:
    hub.token = "ghp_renewed"
    start(here)
    eventually(lambda: notifications(here), "people are told")
    assert kingdom("stop", base=here).code == 0
    let_go = threading.Event()
    hub.faults.append(Fault("GET", path="/notifications", held=let_go, left=99))
    asked = len(hub.asked)
    start(here)
    eventually(lambda: len(hub.asked) > asked, "it looks again, and waits for an answer")
    drop(here, "cron-1")
    ended(here, "evt-cron-1")  # so the king has had his turn
    assert watcher(here)["state"] == "trouble"
    assert len(notifications(here)) == 1
    hub.token = TOKEN
    let_go.set()
    eventually(lambda: len(notifications(here)) > 1, "it is over")
    assert watcher(here)["state"] == "ok"


def test_without_a_token_it_is_off_and_says_what_to_set(here: BaseDir, hub: Any) -> None:
    watch(here, hub, trust={})
    assert "trust:\n  repos: []\n  people: []\n" in start(here, token=None)
    eventually(lambda: watcher(here).get("state") == "off", "it is off")
    assert "GH_TOKEN" in watcher(here)["remedy"]
    assert notifications(here) == []
    assert hub.asked == []


def test_settings_that_change_are_taken_up_and_a_watcher_taken_out_rests(
    here: BaseDir, hub: Any
) -> None:
    watch(here, hub, scope={"repos": ["acme/api"]})
    start(here)
    hub.notify(1, repo="acme/api")
    hub.notify(2)
    ended(here, "evt-github-1001")
    watch(here, hub)
    hub.notify(3)
    ended(here, "evt-github-1003")
    write(here, "sentinel", {"polling": {"inbox": {}}})
    eventually(lambda: list(status(here, environment())["watchers"]) == ["inbox"], "it rests")
    asked = len(hub.asked)
    drop(here, "cron-1")
    ended(here, "evt-cron-1")
    assert len(hub.asked) <= asked + 1  # one may have been under way


def test_try_shows_what_would_be_emitted_and_changes_nothing(here: BaseDir, hub: Any) -> None:
    watch(here, hub, scope={"repos": ["acme/*"]})
    hub.pull(1)
    hub.notify(1)
    hub.notify(2, repo="other/web")
    given = {"GH_TOKEN": TOKEN}
    for _ in range(2):
        said = kingdom("sentinel", "try", base=here, env=given)
        assert said.code == 0
        assert "would emit  acme/web#1 review_requested  → evt-github-1001" in said.out
        assert "left alone  other/web#2 review_requested  other/web is not among" in said.out
        assert "github: 2 things seen, 1 event to emit." in said.out
        assert "trust:" not in said.out
    watch(here, hub, trust={}, scope={"repos": ["acme/*"]})
    said = kingdom("sentinel", "try", base=here, env=given)
    assert "normal, outside: author ann" in said.out
    assert said.out.endswith('\n  repos: ["acme/*"]\n  people: []  # seen so far: ann\n')
    watch(here, hub, scope={"repos": ["acme/*"]})
    listed = json.loads(kingdom("sentinel", "try", "github", "--json", base=here, env=given).out)
    assert [one["verdict"] for one in listed] == ["left alone", "would emit"]
    assert listed[1]["event"]["trust"] == "member"
    assert hub.marked == []
    assert not files(here)
    assert not Path(here.path("state", "sentinel", "github-state.json")).exists()
    start(here)
    ended(here, "evt-github-1001")
    said = kingdom("sentinel", "try", "github", base=here, env=given)
    assert (
        "known       acme/web#1 review_requested  evt-github-1001 was emitted already." in said.out
    )


def test_try_needs_only_the_files_it_goes_by(here: BaseDir, hub: Any) -> None:
    hub.pull(1)
    hub.notify(1)
    Path(here.path("config", "local", "chamberlain.yaml")).write_text("thresholds: [\n")
    said = kingdom("sentinel", "try", "github", base=here, env={"GH_TOKEN": TOKEN})
    assert (said.code, said.err.count("\n")) == (0, 1)
    assert "would emit  acme/web#1" in said.out
    assert "config/local/chamberlain.yaml" in said.err
    Path(here.path("config", "local", "sentinel.yaml")).write_text("polling: [\n")
    assert "sentinel.yaml" in one_sentence(kingdom("sentinel", "try", base=here), 2)


def test_try_says_what_is_wrong(here: BaseDir, hub: Any) -> None:
    assert "GH_TOKEN is not set" in one_sentence(kingdom("sentinel", "try", "github", base=here), 1)
    wrong = kingdom("sentinel", "try", "github", base=here, env={"GH_TOKEN": "ghp_wrong"})
    assert "GitHub refuses (401)" in one_sentence(wrong, 1)
    assert "is not a watcher" in one_sentence(kingdom("sentinel", "try", "gitlab", base=here), 2)
    assert "sentinel.yaml does not name it" in one_sentence(
        kingdom("sentinel", "try", "jira", base=here), 2
    )
    assert "is not one of its verbs" in one_sentence(kingdom("sentinel", "tyr", base=here), 2)


def test_why_of_what_never_became_an_event(here: BaseDir, hub: Any) -> None:
    watch(here, hub, scope={"repos": ["acme/*"], "filter_reasons": ["mention"]})
    start(here)
    hub.notify(1)
    eventually(
        lambda: "left alone" in kingdom("why", "acme/web#1", base=here).out, "that it was seen"
    )
    assert (
        "The reason review_requested is not among scope.filter_reasons."
        in kingdom("why", f"{hub.url}/repos/acme/web/pulls/1", base=here).out
    )
    assert "other/web is not among scope.repos." in kingdom("why", "other/web#1", base=here).out
    said = kingdom("why", "https://acme.atlassian.net/browse/SHOP-1", base=here).out
    assert "Nothing watches jira" in said
    assert "not the address of" in one_sentence(
        kingdom("why", "https://github.com/acme/web", base=here), 2
    )
    kingdom("stop", base=here)
    assert "The sentinel is not running." in kingdom("why", "acme/web#9", base=here).out
