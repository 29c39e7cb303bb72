"""Things as GitHub spells them, with all that its description of the API demands of each.

Each takes the address of the API first, and what differs from the ordinary last.
"""

from __future__ import annotations

import zlib
from typing import Any

Entry = dict[str, Any]
WEB = "https://github.example"
CREATED = "2026-11-01T09:00:00Z"
_OF_USERS = (
    "events followers following gists organizations received_events repos starred subscriptions"
)
_OF_REPOSITORIES = (
    "archive assignees blobs branches collaborators comments commits compare contents contributors "
    "deployments downloads events forks git_commits git_refs git_tags hooks issue_comment "
    "issue_events issues keys labels languages merges milestones notifications pulls releases "
    "stargazers statuses subscribers subscription tags teams trees"
)
_COUNTED = (
    "forks forks_count network_count open_issues open_issues_count stargazers_count "
    "subscribers_count watchers watchers_count"
)
_SWITCHES = "has_discussions has_downloads has_issues has_pages has_projects has_wiki"
_OF_PULLS = "comments commits issue review_comment review_comments statuses"


def _links(address: str, names: str) -> Entry:
    return {f"{name}_url": f"{address}/{name}" for name in names.split()}


def _identity(kind: str, name: object) -> Entry:
    number = zlib.crc32(f"{kind} {name}".encode())
    return {"id": number, "node_id": f"{kind}_{number:x}"}


def user(api: str, login: str, **more: Any) -> Entry:
    return (
        _identity("U", login)
        | _links(f"{api}/users/{login}", _OF_USERS)
        | {
            "login": login,
            "type": "User",
            "site_admin": False,
            "gravatar_id": "",
            "avatar_url": f"{WEB}/avatars/{login}",
            "url": f"{api}/users/{login}",
            "html_url": f"{WEB}/{login}",
        }
        | more
    )


def owner_of_token(api: str, login: str) -> Entry:
    """With what only they themselves are told."""
    unsaid = dict.fromkeys(["name", "company", "blog", "location", "email", "hireable", "bio"])
    counted = dict.fromkeys(["public_repos", "public_gists", "followers", "following"], 0)
    secret = "private_gists total_private_repos owned_private_repos disk_usage collaborators"
    counted |= dict.fromkeys(secret.split(), 0)
    moments = {"created_at": CREATED, "updated_at": CREATED}
    return user(api, login, two_factor_authentication=True, **unsaid, **counted, **moments)


def repository_in_short(api: str, name: str, **more: Any) -> Entry:
    owner, _, short = name.partition("/")
    return (
        _identity("R", name)
        | _links(f"{api}/repos/{name}", _OF_REPOSITORIES)
        | {
            "name": short,
            "full_name": name,
            "owner": user(api, owner, type="Organization"),
            "private": True,
            "fork": False,
            "description": None,
            "url": f"{api}/repos/{name}",
            "html_url": f"{WEB}/{name}",
        }
        | more
    )


def repository(api: str, name: str, **more: Any) -> Entry:
    return (
        repository_in_short(api, name)
        | dict.fromkeys(_COUNTED.split(), 0)
        | dict.fromkeys(_SWITCHES.split(), True)
        | dict.fromkeys(["homepage", "language", "license", "mirror_url"])
        | dict.fromkeys(["created_at", "pushed_at", "updated_at"], CREATED)
        | {
            "default_branch": "main",
            "size": 1,
            "archived": False,
            "disabled": False,
            "clone_url": f"{WEB}/{name}.git",
            "svn_url": f"{WEB}/{name}",
            "git_url": f"git://github.example/{name}.git",
            "ssh_url": f"git@github.example:{name}.git",
        }
        | more
    )


def thread(api: str, id_: str, repo: str, **more: Any) -> Entry:
    address = f"{api}/notifications/threads/{id_}"
    return {
        "id": id_,
        "unread": True,
        "last_read_at": None,
        "repository": repository_in_short(api, repo),
        "url": address,
        "subscription_url": f"{address}/subscription",
    } | more


def pull(api: str, repo: str, number: int, **more: Any) -> Entry:
    """`head` and `base` as `tip` makes them."""
    address, page = f"{api}/repos/{repo}/pulls/{number}", f"{WEB}/{repo}/pull/{number}"
    leads = _links(address, _OF_PULLS)
    links = {name.removesuffix("_url"): {"href": link} for name, link in leads.items()}
    places = {"self": {"href": address}, "html": {"href": page}}
    return (
        _identity("PR", f"{repo} {number}")
        | leads
        | dict.fromkeys(
            ["assignee", "auto_merge", "closed_at", "merged_at", "merged_by", "milestone"]
        )
        | dict.fromkeys(["comments", "review_comments", "deletions"], 0)
        | dict.fromkeys(["additions", "changed_files", "commits"], 1)
        | dict.fromkeys(["draft", "locked", "maintainer_can_modify", "merged"], False)
        | dict.fromkeys(["created_at", "updated_at"], CREATED)
        | {
            "number": number,
            "title": f"Change number {number}",
            "body": None,
            "state": "open",
            "labels": [],
            "user": user(api, "ann"),
            "author_association": "MEMBER",
            "head": tip(api, repo, "topic", number),
            "base": tip(api, repo, "main"),
            "mergeable": True,
            "mergeable_state": "clean",
            "merge_commit_sha": None,
            "url": address,
            "html_url": page,
            "diff_url": f"{page}.diff",
            "patch_url": f"{page}.patch",
            "_links": links | places,
        }
        | more
    )


def tip(api: str, repo: str | None, branch: str, number: int = 0) -> Entry:
    """What a pull request leads from, or to; None for a repository that is gone."""
    owner = (repo or "ghost").partition("/")[0]
    return {
        "label": f"{owner}:{branch}",
        "ref": branch,
        "sha": f"{number:040x}",
        "repo": repository(api, repo) if repo else None,
        "user": user(api, owner),
    }


def issue(api: str, repo: str, number: int, **more: Any) -> Entry:
    address = f"{api}/repos/{repo}/issues/{number}"
    return (
        _identity("I", f"{repo} {number}")
        | _links(address, "comments events labels")
        | dict.fromkeys(["assignee", "body", "closed_at", "milestone"])
        | dict.fromkeys(["created_at", "updated_at"], CREATED)
        | {
            "number": number,
            "title": f"Trouble number {number}",
            "state": "open",
            "locked": False,
            "labels": [],
            "comments": 0,
            "user": user(api, "ann"),
            "author_association": "MEMBER",
            "url": address,
            "html_url": f"{WEB}/{repo}/issues/{number}",
            "repository_url": f"{api}/repos/{repo}",
        }
        | more
    )


def comment(api: str, repo: str, number: int, id_: int, **more: Any) -> Entry:
    place = f"{api}/repos/{repo}/issues"
    return {
        "id": id_,
        "node_id": f"IC_{id_:x}",
        "user": user(api, "ann"),
        "author_association": "MEMBER",
        "body": "Well.",
        "created_at": CREATED,
        "updated_at": CREATED,
        "url": f"{place}/comments/{id_}",
        "html_url": f"{WEB}/{repo}/issues/{number}#issuecomment-{id_}",
        "issue_url": f"{place}/{number}",
    } | more


def review(api: str, repo: str, number: int, id_: int, **more: Any) -> Entry:
    place, page = f"{api}/repos/{repo}/pulls/{number}", f"{WEB}/{repo}/pull/{number}"
    return {
        "id": id_,
        "node_id": f"PRR_{id_:x}",
        "user": user(api, "ann"),
        "author_association": "MEMBER",
        "body": "",
        "state": "COMMENTED",
        "commit_id": f"{number:040x}",
        "submitted_at": CREATED,
        "html_url": f"{page}#pullrequestreview-{id_}",
        "pull_request_url": place,
        "_links": {"html": {"href": page}, "pull_request": {"href": place}},
    } | more


def changed_file(api: str, repo: str, filename: str, patch: str = "") -> Entry:
    sha = f"{zlib.crc32(filename.encode()):040x}"
    added, removed = patch.count("\n+"), patch.count("\n-")
    return {
        "filename": filename,
        "patch": patch,
        "sha": sha,
        "status": "modified",
        "additions": added,
        "deletions": removed,
        "changes": added + removed,
        "blob_url": f"{WEB}/{repo}/blob/{sha}/{filename}",
        "raw_url": f"{WEB}/{repo}/raw/{sha}/{filename}",
        "contents_url": f"{api}/repos/{repo}/contents/{filename}",
    }
