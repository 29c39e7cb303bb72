"""What Jira may answer, and what becomes of it: a sentence, a remedy, and never the token."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.clients.jira import Jira, find_credentials
from kingdom.clients.jira_faults import JiraLater, JiraLimited, JiraRefused
from kingdom.errors import ConfigurationError
from tests.support.jira_server import ME, TOKEN, FakeJira
from tests.support.jira_watch import JQL, MINE, QUICK, fault_of
from tests.support.kingdom import START, MovableClock
from tests.support.loopback import Fault


@pytest.fixture
def jira() -> Iterator[FakeJira]:
    with FakeJira() as made:
        yield made


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def client(jira: FakeJira, clock: MovableClock) -> Iterator[Jira]:
    made = Jira(jira.url, MINE, clock=clock, timeout=QUICK)
    yield made
    made.close()


def answers(jira: FakeJira, status: int, body: Any = "", **headers: str) -> None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    jira.faults = [Fault("POST", "search", status=status, body=body, headers=named)]


# Limits and outages


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry_After": "17"}, 17),
        ({"Retry_After": "Sat, 07 Feb 2026 10:01:30 GMT"}, 90),
        ({"Retry_After": "Sat, 07 Feb 2026 09:00:00 GMT"}, 60),
        ({"Retry_After": "soon"}, 60),
        ({"Retry_After": "99999999"}, 60),
        ({"Retry_After": "86400"}, 7200),
        ({"X_RateLimit_Reset": "2026-02-07T10:05:00Z"}, 300),
        ({"X_RateLimit_Reset": "2026-02-07T09:05:00Z"}, 60),
        ({}, 60),
    ],
)
def test_a_limit_is_waited_for_and_nothing_is_asked_before(
    client: Jira, jira: FakeJira, clock: MovableClock, headers: dict[str, str], seconds: int
) -> None:
    answers(jira, 429, {"errorMessages": ["Rate limit exceeded."]}, **headers)
    fault = fault_of(client)
    assert isinstance(fault, JiraLimited)
    assert "Rate limit exceeded." in fault.sentence
    assert fault.not_before == START + timedelta(seconds=seconds)
    asked = len(jira.asked)
    assert isinstance(fault_of(client), JiraLimited)
    assert len(jira.asked) == asked
    clock.advance(seconds)
    assert client.search(JQL, []).issues == []


def test_a_clock_that_is_put_back_meanwhile_does_not_prolong_a_limit(
    client: Jira, jira: FakeJira, clock: MovableClock
) -> None:
    answers(jira, 429, {}, **{"Retry-After": "77"})
    assert isinstance(fault_of(client), JiraLimited)
    clock.set_wall(START - timedelta(hours=5))
    assert client.search(JQL, []).issues == []


@pytest.mark.parametrize("status", [500, 502, 503, 504, 408])
def test_an_outage_may_pass_and_is_asked_about_once(
    client: Jira, jira: FakeJira, status: int
) -> None:
    client.site()
    jira.asked.clear()
    answers(jira, status, "<html>Oops</html>", Retry_After="Sat, 07 Feb 2026 10:01:30 GMT")
    fault = fault_of(client)
    assert isinstance(fault, JiraLater)
    assert fault.not_before == START + timedelta(seconds=90)
    assert len(jira.asked) == 1  # the library would sleep, and try again


@pytest.mark.parametrize("lost", ["before", "inside"])
def test_a_line_that_breaks(client: Jira, jira: FakeJira, lost: str) -> None:
    jira.faults = [Fault("POST", "search", lost=lost)]
    fault = fault_of(client)
    assert fault.code == "jira_unavailable"
    assert "could not be reached, or did not answer" in fault.sentence


def test_an_answer_that_does_not_come_is_not_waited_for_long(jira: FakeJira) -> None:
    client = Jira(jira.url, MINE, timeout=(2.0, 0.2))
    client.site()
    never = threading.Event()
    jira.faults = [Fault("POST", "search", held=never)]
    assert isinstance(fault_of(client), JiraLater)
    never.set()
    client.close()


def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        client = Jira(f"http://127.0.0.1:{taken.getsockname()[1]}", MINE, timeout=QUICK)
        assert isinstance(fault_of(client), JiraLater)
        client.close()


# Refusals


def test_wrong_jql_is_told_in_jiras_own_words(client: Jira) -> None:
    with pytest.raises(JiraRefused) as caught:
        client.search(f"nonsense {JQL}", [])
    assert "Expecting operator but got 'nonsense'." in caught.value.sentence
    assert "jql_base" in caught.value.remedy
    assert caught.value.code == "jira_query"


def test_an_expired_token_is_noticed_though_a_cloud_answers_with_no_tickets(
    client: Jira, jira: FakeJira
) -> None:
    client.site()
    jira.token = "another"
    fault = fault_of(client)
    assert isinstance(fault, JiraRefused)
    assert fault.code == "jira_login"
    assert fault.status == 401
    assert "JIRA_API_TOKEN" in fault.remedy
    assert "JIRA_USER_EMAIL" in fault.remedy


def test_a_wrong_token_from_the_start(client: Jira, jira: FakeJira) -> None:
    jira.token = "another"
    with pytest.raises(JiraRefused, match="does not accept the token: Client must be auth"):
        client.account()


def test_a_server_that_wants_a_person() -> None:
    with FakeJira(cloud=False) as jira:
        jira.token = "another"
        client = Jira(jira.url, MINE, timeout=QUICK)
        faults = [fault_of(client) for _ in range(4)]
        client.close()
    assert [one.code for one in faults] == ["jira_login"] * 4
    assert "does not accept the token" in faults[0].sentence
    assert "wants a person to log in" in faults[-1].sentence
    assert "CAPTCHA" in faults[-1].remedy


def test_whom_a_server_takes_for_nobody(client: Jira, jira: FakeJira) -> None:
    answers(jira, 200, {"issues": []}, X_AUSERNAME="anonymous")
    assert fault_of(client).code == "jira_login"


def test_what_the_account_may_not(client: Jira, jira: FakeJira) -> None:
    answers(jira, 403, {"errorMessages": ["You may not browse."]})
    fault = fault_of(client)
    assert isinstance(fault, JiraRefused)
    assert fault.sentence == "Jira refuses (403): You may not browse."
    assert "permission" in fault.remedy


def test_a_jira_that_became_a_cloud_is_asked_anew_what_it_is() -> None:
    with FakeJira(cloud=False) as jira:
        client = Jira(jira.url, MINE, timeout=QUICK)
        client.search(JQL, [])
        jira.cloud = True
        answers(jira, 410, {"errorMessages": ["The requested API has been removed."]})
        assert "has been removed" in fault_of(client).sentence
        assert client.search(JQL, []).issues == []
        assert jira.asked[-1] == "POST /rest/api/3/search/jql"
        client.close()


@pytest.mark.parametrize(
    "body",
    [
        '{"errorMessages": null}', '{"errorMessages": [1]}', "7", "null", '{"errors": [1]}', "[[",
        '{"errorMessages": {"a": 1}, "errors": null, "message": 3}',
    ],
)  # fmt: skip
def test_errors_that_the_library_cannot_read_keep_their_meaning(
    client: Jira, jira: FakeJira, body: str
) -> None:
    answers(jira, 401, body)
    assert fault_of(client).code == "jira_login"
    answers(jira, 400, body)
    assert fault_of(client).code == "jira_query"
    answers(jira, 500, body)
    assert isinstance(fault_of(client), JiraLater)


def test_jiras_words_are_bounded_harmless_and_without_the_token(
    client: Jira, jira: FakeJira
) -> None:
    said = f"\x1b[2J bad token {TOKEN} " + "x" * 5000
    answers(jira, 400, {"errorMessages": [said], "errors": {"jql": "no"}})
    sentence = fault_of(client).sentence
    assert "\x1b" not in sentence
    assert "***" in sentence
    assert len(sentence) < 500


# Something else than Jira


@pytest.mark.parametrize(
    "body", ["<html>Log in</html>", "", "[1, 2]", '{"issues": 3}', '{"issues":', "[" * 100_000]
)
def test_something_else_than_what_was_asked_for(client: Jira, jira: FakeJira, body: str) -> None:
    answers(jira, 200, body)
    fault = fault_of(client)
    assert isinstance(fault, JiraLater)
    assert ("web page" in fault.sentence) == body.startswith("<")


def test_a_redirect_is_not_followed(client: Jira, jira: FakeJira) -> None:
    answers(jira, 302, "", Location=f"https://elsewhere.example/login?t={TOKEN}")
    fault = fault_of(client)
    assert "leads elsewhere: to https://elsewhere.example." in fault.sentence
    assert "polling.jira.url" in fault.remedy


def test_an_address_at_which_something_else_answers(client: Jira, jira: FakeJira) -> None:
    jira.faults = [Fault("GET", "serverInfo", status=200, body={"hello": "world"})]
    assert "is no Jira" in fault_of(client).sentence


@pytest.mark.parametrize("url", ["jira.example", "ftp://jira.example", "https://", "https://a:b@c"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(ConfigurationError, match="is not an address"):
        Jira(url, MINE)


# Who asks


@pytest.mark.parametrize("token", ["two words", "new\nline", "schlüssel"])
def test_what_cannot_be_a_token(token: str) -> None:
    with pytest.raises(JiraRefused, match="JIRA_API_TOKEN holds cannot be used") as caught:
        find_credentials({"JIRA_API_TOKEN": token}, "JIRA_USER_EMAIL", "JIRA_API_TOKEN")
    assert token not in str(caught.value)


def test_a_password_in_netrc_is_not_used(
    jira: FakeJira, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = scratch / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password else\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    client = Jira(jira.url, MINE, timeout=QUICK)
    assert client.account().id == ME
    assert jira.asked == ["GET /rest/api/2/serverInfo", "GET /rest/api/3/myself"]
    client.close()


def test_no_cookie_is_kept(client: Jira, jira: FakeJira) -> None:
    answers(jira, 200, {"issues": []}, Set_Cookie="JSESSIONID=1; Path=/")
    client.search(JQL, [])
    assert client._session is not None
    assert list(client._session.cookies) == []


def test_the_token_is_in_no_log(
    client: Jira, jira: FakeJira, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        answers(jira, 503, "")
        fault_of(client)
        client.account()
    assert TOKEN not in caplog.text
