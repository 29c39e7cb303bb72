"""GitHub, Jira and Slack, as far as they are in use: whose the token is, and what it may do.

Each is asked a question or two that change nothing there, and is not waited for long.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kingdom.clients.github import GitHub, Reply
from kingdom.clients.github_access import find_token
from kingdom.clients.github_faults import GitHubRefused
from kingdom.clients.jira import Jira, find_credentials
from kingdom.clients.slack import Slack
from kingdom.clients.slack_access import find_app_token
from kingdom.clients.slack_access import find_token as find_slack_token
from kingdom.clients.waits import http_date
from kingdom.clock import SystemClock
from kingdom.errors import KingdomError, TryLater
from kingdom.ops.doctor.finding import PROBLEM, WARNING, Finding, Patient, fine
from kingdom.ops.slack_app import calls_failing, crowded, failures, missing_scopes, reading_calls
from kingdom.sentinel.watchers.jira_query import composed, zone_of
from kingdom.settings.envoy import Slack as SlackSettings
from kingdom.settings.sentinel import GithubWatcher, JiraWatcher

PATIENCE = 5  # seconds for each answer
_TOLERATED = 60.0  # seconds between two clocks; what expires by ours still lives by theirs
_OFF = "The watcher is off: sentinel.yaml does not name it."
# Either is enough for notifications; private repositories need the second.
_SCOPES = ("notifications", "repo")


def github(patient: Patient) -> Iterator[Finding]:
    settings = patient.settings.sentinel.polling.github
    if settings is None:
        yield fine("github", _OFF)
        return
    try:
        yield from _github(patient, settings)
    except KingdomError as error:
        yield _trouble("github", error)


def _github(patient: Patient, settings: GithubWatcher) -> Iterator[Finding]:
    token = find_token(patient.environment, settings.token_env, settings.api_url)
    client = GitHub(token, settings.api_url, timeout=PATIENCE, pace=(0.0, 0.0))
    try:
        who, heard = _account(client)
        yield _notifications(client, who)
        yield from _scopes(heard)
        yield from _clock("GitHub", http_date(heard.headers.get("date", "")))
    finally:
        client.close()


def _account(client: GitHub) -> tuple[str, Reply]:
    """An app may not ask who it is."""
    try:
        reply = client.look("/user")
    except GitHubRefused as refused:
        if refused.status != 403:
            raise
        return "an app", Reply(True, {})
    login = reply.data.get("login") if isinstance(reply.data, dict) else None
    return str(login or "somebody without a name"), reply


def _notifications(client: GitHub, who: str) -> Finding:
    try:
        client.look("/notifications", {"per_page": "1"})
    except GitHubRefused as refused:
        sentence = f"The token is that of {who}, and may not read notifications: "
        remedy = refused.remedy or f"Give it the scope {_SCOPES[0]}, or {_SCOPES[1]}."
        return Finding(PROBLEM, "github", f"{sentence}{refused.sentence}", remedy)
    return fine("github", f"The token is that of {who}, and reads notifications.")


def _scopes(heard: Reply) -> Iterator[Finding]:
    """Classic tokens tell theirs; of others GitHub does not say."""
    told = heard.headers.get("x-oauth-scopes")
    if told is None:
        return
    granted = {one.strip() for one in told.split(",")}
    if "repo" not in granted:
        yield Finding(
            WARNING,
            "github",
            "The token has no scope repo, so private repositories are closed to it, and nothing "
            "can be posted or pushed there.",
            "Give it the scope repo, if that is wanted.",
        )


def jira(patient: Patient) -> Iterator[Finding]:
    settings = patient.settings.sentinel.polling.jira
    if settings is None:
        yield fine("jira", _OFF)
        return
    try:
        yield from _jira(patient, settings)
    except KingdomError as error:
        yield _trouble("jira", error)


def _jira(patient: Patient, settings: JiraWatcher) -> Iterator[Finding]:
    mine = find_credentials(patient.environment, settings.email_env, settings.token_env)
    client = Jira(settings.url, mine, timeout=(float(PATIENCE), float(PATIENCE)))
    try:
        account = client.account()
        kind = "a cloud" if client.site().is_cloud else "a server"
        yield fine("jira", f"The token is that of {account.id}, at {kind}.")
        since = SystemClock().now()
        client.search(composed(settings.scope.jql_base, since, zone_of(account.zone)), ["updated"])
        yield fine("jira", "It finds tickets by scope.jql_base.")
        yield from _clock("Jira", client.now)
    finally:
        client.close()


def slack(patient: Patient) -> Iterator[Finding]:
    """Without a test message, unlike `kingdom envoy try`."""
    if patient.settings.envoy.transport != "slack":
        yield fine("slack", "It is not in use: envoy.transport is console.")
        return
    given = patient.settings.envoy.slack
    try:
        token = find_slack_token(patient.environment, given.bot_token_env)
        client = Slack(token, given.api_url, variable=given.bot_token_env, timeout=PATIENCE)
        me = client.me()
        yield fine("slack", f"The token is that of {me.name} in {me.team}.")
    except KingdomError as error:
        yield _trouble("slack", error)
        return
    missing = missing_scopes(client.scopes)
    if missing is not None:
        yield Finding(PROBLEM, "slack", missing.sentence, missing.remedy)
    client.begin_step()  # so that nobody waits twice for a Slack that does not answer
    failed = failures(reading_calls(client, given)) + calls_failing(patient.base)
    yield from (_trouble("slack", one) for one in {str(one): one for one in failed}.values())
    yield _listening(patient, given)
    if patient.base and (problem := crowded(patient.base, given)) is not None:
        yield Finding(PROBLEM, "slack", problem.sentence, problem.remedy)


def _listening(patient: Patient, given: SlackSettings) -> Finding:
    variable = given.app_token_env
    try:
        token = find_app_token(patient.environment, variable)
        if not token:
            sentence = f"{variable} is not set, so replies are polled."
            return Finding(WARNING, "slack", sentence, f"Set {variable}, to hear at once.")
        Slack(token, given.api_url, variable=variable, timeout=PATIENCE).socket_address()
    except KingdomError as error:
        return _trouble("slack", error)
    return fine("slack", f"With the token in {variable} it hears replies at once.")


def _trouble(what: str, error: KingdomError) -> Finding:
    """What passes by itself, such as an outage, is in nobody's way for ever."""
    state = WARNING if isinstance(error, TryLater) else PROBLEM
    remedy = error.remedy or ("Try again later." if state == WARNING else "")
    return Finding(state, what, error.sentence, remedy)


def _clock(who: str, theirs: datetime | None) -> Iterator[Finding]:
    if theirs is None:
        return
    apart = (SystemClock().now() - theirs).total_seconds()
    if abs(apart) > _TOLERATED:
        direction = "fast" if apart > 0 else "slow"
        yield Finding(
            WARNING,
            "clock",
            f"This machine's clock is {abs(apart):.0f} seconds {direction}, by {who}'s.",
            "Have it set from the network: timedatectl set-ntp true",
        )
    else:
        yield fine("clock", f"It agrees with {who}'s.")
