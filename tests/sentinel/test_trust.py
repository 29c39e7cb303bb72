"""Who is a member: whom the settings name, and nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from kingdom.sentinel.trust import Judged, jira_name, lowest, of_author, of_jira_user, of_pull
from kingdom.settings.sentinel import Trusted

NOBODY = Trusted()
ADA = Trusted(people=["ada"])
WEB = Trusted(repos=["acme/web", "Acme/service-*"])
ACME = Trusted(organisations=["acme"])
KELVIN = "\u212a"  # lower() makes it a k


@pytest.mark.parametrize(
    ("login", "association", "repo", "trusted", "trust"),
    [
        ("ada", "OWNER", "acme/web", NOBODY, "outside"),
        ("mallory", "OWNER", "mallory/own", NOBODY, "outside"),
        ("mallory", "OWNER", "mallory/own", ACME, "outside"),
        ("mallory", "OWNER", "mallory/web", WEB, "outside"),
        ("ada", "NONE", "mallory/own", ADA, "member"),
        ("ADA", "NONE", "acme/web", ADA, "member"),
        ("ada-l", "NONE", "acme/web", ADA, "outside"),
        ("\u0430da", "NONE", "acme/web", ADA, "outside"),  # begins with a Cyrillic letter
        ("", "NONE", "acme/web", ADA, "outside"),
        ("bob", "OWNER", "acme/web", WEB, "member"),
        ("bob", "MEMBER", "ACME/Web", WEB, "member"),
        ("bob", "COLLABORATOR", "acme/service-a", WEB, "member"),
        ("bob", "MEMBER", "acme/website", WEB, "outside"),
        ("eve", "CONTRIBUTOR", "acme/web", WEB, "outside"),
        ("eve", "NONE", "acme/web", WEB, "outside"),
        ("eve", None, "acme/web", WEB, "outside"),
        ("bob", "MEMBER", "acme/any", ACME, "member"),
        ("bob", "OWNER", "acme-evil/any", ACME, "outside"),
        ("bob", "OWNER", "acme", ACME, "outside"),
        ("bob", "OWNER", f"{KELVIN}ite/a", Trusted(organisations=["kite"]), "outside"),
        ("bob", "OWNER", f"{KELVIN}ite/a", Trusted(repos=["kite/*"]), "outside"),
        (f"{KELVIN}im", "NONE", "a/b", Trusted(people=["kim"]), "outside"),
        ("renovate[bot]", "MEMBER", "acme/web", ACME, "bot"),
    ],
)
def test_on_github(
    login: str, association: str | None, repo: str, trusted: Trusted, trust: str
) -> None:
    written = {"user": {"login": login, "type": "User"}, "author_association": association}
    assert of_author(written, repo, trusted) == trust
    as_bot = written | {"user": {"login": login, "type": "Bot"}}
    assert of_author(as_bot, repo, trusted) == "bot"


def test_of_several_the_first_of_the_least_counts_and_is_named() -> None:
    member = Judged("member", "author ada")
    eve, bob = Judged("outside", "comment of eve"), Judged("outside", "comment of bob")
    fork = of_pull({"head": {"repo": {"full_name": "x/web"}}, "base": {}})
    assert lowest([member, eve, bob]).reason == "comment of eve"
    assert lowest([eve, fork, member]) == ("fork", "commits of x/web")
    assert lowest([member]).reason is None


CLOUD = {"accountId": "5b10:Ann", "accountType": "atlassian", "displayName": "Ann"}
SERVER = {"key": "JIRAUSER1", "name": "ann", "emailAddress": "Ann@Acme.example"}


@pytest.mark.parametrize(
    ("user", "members", "trust"),
    [
        (CLOUD, [], "outside"),
        (CLOUD, ["5b10:ann"], "member"),
        (CLOUD, ["5b10*"], "outside"),  # account ids are whole
        (CLOUD, ["Ann"], "outside"),  # what it shows itself as
        (CLOUD | {"displayName": "ann@acme.example"}, ["*@acme.example"], "outside"),
        (CLOUD | {"emailAddress": "ann@acme.example"}, ["*@ACME.example"], "member"),
        (CLOUD | {"accountType": "app"}, ["5b10:ann"], "bot"),
        (CLOUD | {"accountType": "customer"}, ["5b10:ann", "*"], "outside"),
        (CLOUD | {"accountId": ""}, [""], "outside"),
        (SERVER, [], "outside"),
        (SERVER, ["ann"], "member"),
        (SERVER, ["*@acme.example"], "member"),
        (SERVER, ["JIRAUSER1"], "outside"),
        (SERVER | {"name": f"{KELVIN}im"}, ["kim"], "outside"),
        (None, ["*"], "outside"),
    ],
)
def test_in_jira(user: Any, members: list[str], trust: str) -> None:
    assert of_jira_user(user, members) == trust


def test_a_jira_user_is_named_by_what_members_takes() -> None:
    assert jira_name(CLOUD | {"displayName": "Ann\nMallory"}) == "Ann Mallory (5b10:Ann)"
    assert jira_name(SERVER) == "somebody unknown (ann)"
