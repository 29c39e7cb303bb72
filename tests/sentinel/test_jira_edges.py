"""Where the watch of Jira begins, what lies at its edges, and who asks."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from kingdom.clients.jira_faults import JiraLimited, JiraRefused
from kingdom.errors import TryLater
from kingdom.sentinel.post import WatcherOff
from kingdom.sentinel.watchers import jira as jira_watcher
from kingdom.store.paths import BaseDir
from tests.support.jira_server import GATEWAY, FakeJira
from tests.support.jira_watch import JiraLookout, lookout_on
from tests.support.kingdom import START, MovableClock
from tests.support.loopback import Fault

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


# Where it begins


def test_the_first_look_takes_up_what_was_updated_of_late(lookout: JiraLookout) -> None:
    jira = lookout.jira
    jira.create("SHOP-1", START - timedelta(days=400))
    old = jira.create("SHOP-2", START - timedelta(hours=25))
    jira.create("SHOP-3", START - timedelta(hours=23))
    lookout.look()
    assert lookout.told() == ["SHOP-3 assigned"]
    jira.change(old, summary="Still there?")
    lookout.passes(300)
    lookout.look()
    assert lookout.told() == ["SHOP-3 assigned", "SHOP-2 assigned"]


def test_without_first_days_the_past_is_let_be(base: BaseDir, jira: FakeJira) -> None:
    with lookout_on(base, jira, first_days=0) as lookout:
        jira.create("SHOP-1", START - 2 * MINUTE)
        for _ in range(3):
            assert lookout.look().emitted == 0
            lookout.restart()
        jira.create("SHOP-2", START + MINUTE)
        lookout.passes(300)
        lookout.look()
        assert lookout.told() == ["SHOP-2 assigned"]


def test_what_was_updated_before_the_first_ticket_ever_is_not_lost(lookout: JiraLookout) -> None:
    """Nothing was there for days, and the sentinel was down when something came."""
    lookout.look()
    lookout.restart()
    lookout.passes(5 * 86_400)
    lookout.jira.create("SHOP-1", START + HOUR)
    lookout.look()
    assert lookout.told() == ["SHOP-1 assigned"]


def test_another_jira_is_begun_anew(base: BaseDir, cloud: FakeJira) -> None:
    with lookout_on(base, cloud) as lookout:
        lookout.look()
    with FakeJira() as other, lookout_on(base, other) as lookout:
        other.create("SHOP-1", START - 20 * HOUR)
        lookout.look()
        assert lookout.told() == ["SHOP-1 assigned"]


def test_a_scope_that_is_widened_finds_what_was_updated_of_late(
    base: BaseDir, cloud: FakeJira
) -> None:
    cloud.create("SHOP-1", START - HOUR)
    cloud.create("OPS-1", START - 2 * HOUR)
    cloud.create("OPS-2", START - 30 * HOUR)
    with lookout_on(base, cloud, jql_base="project = SHOP") as lookout:
        lookout.look()
        for number in range(2, 5):
            lookout.passes(3600)
            cloud.create(f"SHOP-{number}")
            lookout.passes(60)
            lookout.look()
        clock = lookout.clock
    wider = "project in (SHOP, OPS)"
    with lookout_on(base, cloud, clock=clock, jql_base=wider) as lookout:
        assert lookout.look().emitted == 1
        assert "OPS-1 assigned" in lookout.told()
        assert lookout.state()["jql_base"] == wider
        asked = len(cloud.asked)
        for _ in range(2):
            lookout.restart()
            assert lookout.look().emitted == 0
        assert cloud.queries[-1] != cloud.queries[-3]  # it does not look back each time
        assert len(cloud.asked) > asked


def test_after_weeks_of_rest_a_scope_that_was_changed_loses_nothing(
    base: BaseDir, cloud: FakeJira
) -> None:
    with lookout_on(base, cloud, jql_base="project = SHOP") as lookout:
        lookout.look()
        cloud.create("SHOP-1", START + HOUR)
        lookout.passes(20 * 86_400)
        clock = lookout.clock
    with lookout_on(base, cloud, clock=clock, jql_base="project in (SHOP, OPS)") as lookout:
        assert lookout.look().emitted == 1


def test_a_limit_outlives_a_restart(lookout: JiraLookout) -> None:
    wait = {"Retry-After": "3000"}
    lookout.jira.faults = [Fault("POST", "search", status=429, headers=wait)]
    lookout.jira.create("SHOP-1", START - MINUTE)
    with pytest.raises(JiraLimited):
        lookout.look()
    asked = len(lookout.jira.asked)
    for _ in range(2):
        lookout.restart()
        with pytest.raises(JiraLimited):
            lookout.look()
        assert len(lookout.jira.asked) == asked
    lookout.restart()
    lookout.passes(3001)
    assert lookout.look().emitted == 1
    assert lookout.state()["limited_until"] is None


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"url": 1}'])
def test_a_damaged_state_repeats_nothing(lookout: JiraLookout, damage: str) -> None:
    lookout.jira.create("SHOP-1", START - MINUTE)
    lookout.look()
    Path(lookout.base.path("state", "sentinel", "jira-state.json")).write_text(damage)
    lookout.restart()
    assert lookout.look().emitted == 0
    assert lookout.told() == ["SHOP-1 assigned"]


# At the edge


def test_what_the_search_shows_late_is_found_within_the_overlap(lookout: JiraLookout) -> None:
    jira = lookout.jira
    jira.create("SHOP-1", START - 5 * MINUTE, visible=START + MINUTE)
    jira.create("SHOP-2", START - MINUTE)
    lookout.look()
    lookout.passes(300)
    lookout.look()
    assert lookout.told() == ["SHOP-1 assigned", "SHOP-2 assigned"]


def test_two_updates_within_a_second_are_told_as_the_last_of_them(lookout: JiraLookout) -> None:
    """Their events would have the same id, so the first is not told while the second can come."""
    jira = lookout.jira
    issue = jira.create("SHOP-1", START)
    looked = lookout.look()
    assert looked.emitted == 0
    assert looked.finish.pause(300) <= 5
    jira.comment(issue, "Quick!", at=START + timedelta(seconds=0.9))
    lookout.passes(4)
    lookout.look()
    (event,) = lookout.events()
    assert event["payload"]["comment"] == "Quick!"


def test_a_ticket_from_the_future_does_not_hide_the_others(lookout: JiraLookout) -> None:
    """Jira's clock was wrong when it was updated."""
    lookout.jira.create("SHOP-1", START + timedelta(days=2))
    lookout.look()
    lookout.passes(300)
    lookout.jira.create("SHOP-2", START + MINUTE)
    lookout.look()
    assert sorted(lookout.told()) == ["SHOP-1 assigned", "SHOP-2 assigned"]


@pytest.mark.parametrize("days", [-30, 30])
def test_a_clock_of_ours_that_is_wrong_does_not_matter(
    base: BaseDir, jira: FakeJira, days: int
) -> None:
    clock = MovableClock(START + timedelta(days=days))
    with lookout_on(base, jira, clock=clock) as lookout:
        jira.create("SHOP-1", START - HOUR)
        lookout.look()
        jira.create("SHOP-2", START + MINUTE)
        lookout.passes(300)
        lookout.look()
        assert lookout.told() == ["SHOP-1 assigned", "SHOP-2 assigned"]


@pytest.mark.parametrize("key", ["cursor", "began", "limited_until"])
def test_what_a_clock_that_was_ahead_noted_hides_nothing(lookout: JiraLookout, key: str) -> None:
    lookout.jira.create("SHOP-1", START - HOUR)
    lookout.look()
    path = Path(lookout.base.path("state", "sentinel", "jira-state.json"))
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: "2036-01-01T00:00:00Z"}))
    lookout.restart()
    lookout.jira.create("SHOP-2", START + MINUTE)
    lookout.passes(300)
    lookout.look()
    assert lookout.told() == ["SHOP-1 assigned", "SHOP-2 assigned"]


def test_what_cannot_be_understood_does_not_keep_the_others_waiting(wide: JiraLookout) -> None:
    jira = wide.jira
    jira.create("SHOP-1", START - 3 * MINUTE)
    jira.create("not a key", START - 2 * MINUTE)
    jira.create("SHOP-3", START - MINUTE, summary="half \ud83d of it", labels="none")
    assert wide.look().emitted == 2
    assert wide.events()[1]["payload"]["summary"] == "half ? of it"


def test_what_cannot_be_understood_is_told_once_for_each_change_of_it(wide: JiraLookout) -> None:
    def told() -> int:
        log = Path(wide.base.path("logs", "system.log"))
        return log.read_text().count("sighting.left_alone") if log.exists() else 0

    odd = wide.jira.create("SHOP-7", START - 2 * MINUTE, labels=[])
    odd["key"] = "SHOP-no key"
    for _ in range(3):
        wide.look()
        assert told() == 1
        wide.passes(60)
    wide.restart()
    wide.look()
    assert told() == 1
    wide.jira.change(odd, summary="Another one")
    wide.passes(60)
    for _ in range(2):
        wide.look()
        assert told() == 2


def test_a_ticket_whose_comments_do_not_come_waits_and_then_comes_without(
    lookout: JiraLookout,
) -> None:
    jira = lookout.jira
    jira.create("SHOP-1", START - 2 * MINUTE)
    jira.create("SHOP-2", START - MINUTE)
    jira.faults = [Fault("GET", "/issue/10000/comment", status=503, left=3)]
    for _ in range(2):
        with pytest.raises(TryLater):
            lookout.look()
        assert lookout.told() == ["SHOP-2 assigned"]
        assert (
            lookout.state()["cursor"] < "2026-02-07T09:58:00.000Z"
        )  # the first is to be met again
    lookout.look()
    assert lookout.told() == ["SHOP-1 assigned", "SHOP-2 assigned"]
    assert lookout.events()[0]["trust"] == "outside"


@pytest.mark.parametrize("status", [400, 403, 404, 410, 422])
def test_comments_that_are_refused_are_done_without(lookout: JiraLookout, status: int) -> None:
    lookout.jira.create("SHOP-1", START - 2 * MINUTE)
    lookout.jira.create("SHOP-2", START - MINUTE)
    lookout.jira.faults = [Fault("GET", "/issue/10000/comment", status=status, body="{}")]
    lookout.look()
    assert lookout.told() == ["SHOP-1 assigned", "SHOP-2 assigned"]
    assert lookout.events()[0]["trust"] == "outside"


def test_an_account_that_is_refused_while_comments_are_asked_for_is_told(
    lookout: JiraLookout,
) -> None:
    lookout.jira.create("SHOP-1", START - MINUTE)
    wants = {"X-Authentication-Denied-Reason": "CAPTCHA_CHALLENGE; login-url=/login"}
    lookout.jira.faults = [Fault("GET", "/comment", status=403, headers=wants, body="{}")]
    with pytest.raises(JiraRefused, match="a person to log in"):
        lookout.look()
    assert lookout.look().emitted == 1


@pytest.mark.parametrize("tokens", [["same"], [str(number) for number in range(100)]])
def test_a_listing_that_does_not_come_to_an_end(
    wide: JiraLookout, tokens: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jira_watcher, "_MOST_PAGES", 10)
    issue = wide.jira.create("SHOP-1", START - timedelta(days=1))
    pages = [{"issues": [wide.jira.shown(issue)], "nextPageToken": token} for token in tokens * 100]
    wide.jira.faults = [Fault("POST", "search", status=200, body=page) for page in pages]
    with pytest.raises(TryLater, match="does not come to an end"):
        wide.look()
    assert wide.told() == ["SHOP-1 assigned"]
    wide.jira.faults = []
    wide.jira.create("SHOP-2", START - MINUTE)
    assert wide.look().emitted == 1


# Who asks


def test_a_token_with_scopes_is_used_at_the_gateway_and_people_get_the_sites_address(
    base: BaseDir,
) -> None:
    with FakeJira(prefix=GATEWAY) as jira, lookout_on(base, jira) as lookout:
        jira.create("SHOP-1", START - MINUTE)
        lookout.look()
        payload = lookout.events()[0]["payload"]
        assert payload["url"] == "https://acme.atlassian.net/browse/SHOP-1"
        assert payload["api_url"] == f"{jira.url}/rest/api/3/issue/SHOP-1"


def test_without_a_token_it_is_off_and_says_what_to_set(base: BaseDir, cloud: FakeJira) -> None:
    with lookout_on(base, cloud) as lookout:
        lookout.environment = {"JIRA_USER_EMAIL": "a@b"}
        with pytest.raises(WatcherOff, match="JIRA_API_TOKEN is not set"):
            lookout.look()
        assert cloud.asked == []


def test_on_a_cloud_without_an_account_it_is_off_and_shows_nobody_the_token(
    base: BaseDir, cloud: FakeJira
) -> None:
    with lookout_on(base, cloud) as lookout:
        del lookout.environment["JIRA_USER_EMAIL"]
        with pytest.raises(WatcherOff, match="JIRA_USER_EMAIL is not set"):
            lookout.look()
        assert cloud.asked == ["GET /rest/api/2/serverInfo"]


def test_a_server_gets_the_personal_token_also_when_an_account_is_set(base: BaseDir) -> None:
    with FakeJira(cloud=False) as jira, lookout_on(base, jira) as lookout:
        lookout.environment["JIRA_USER_EMAIL"] = "left@over.example"
        jira.create("SHOP-1", START - MINUTE)
        lookout.look()
        assert lookout.told() == ["SHOP-1 assigned"]
        assert jira.failed_logins == 0
