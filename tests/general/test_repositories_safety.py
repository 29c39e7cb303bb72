"""Credentials go to the remote and nowhere else, whatever a repository or a soldier may want."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from kingdom.clients.git_faults import (
    DiskRefused,
    GitBusy,
    GitFailed,
    GitMissing,
    GitRefused,
    GitUnreachable,
    RefMissing,
    RepositoryMissing,
    failure_of,
)
from kingdom.clients.git_hosts import GitSettings, Hosts, is_name
from kingdom.errors import ConfigurationError, KingdomError, NeverWorks, TryLater
from kingdom.general.checkouts.clones import slug
from kingdom.settings.addresses import RepositoryRefused, read_url
from tests.support.git_remotes import Realm, git, git_server

TOKEN = "planted-3f9c1e7a5b2d4860"


@pytest.fixture
def realm(scratch: Path) -> Realm:
    made = Realm(scratch)
    made.environment["GH_TOKEN"] = TOKEN
    return made


def spellings() -> list[bytes]:
    pair = base64.b64encode(f"x-access-token:{TOKEN}".encode())
    return [TOKEN.encode(), pair, base64.b64encode(TOKEN.encode())]


def test_a_token_from_the_environment_opens_a_private_repository_and_is_left_nowhere(
    realm: Realm,
) -> None:
    remote = realm.remote()
    seen: set[bytes] = set()
    with git_server(realm.remotes, TOKEN) as server:
        realm.settings["url"] = server.url
        repositories = realm.repositories()
        stop = threading.Event()
        watcher = threading.Thread(target=_watch, args=(stop, seen))
        watcher.start()
        try:
            server.answers_when = lambda: _reaching_out(seen)
            found = repositories.prepare("acme/shop", "task-1")
            Path(found.path, "a.txt").write_text("work")
            git(found.path, "commit", "-qam", "work")
            sha = repositories.push(found, "topic")
        finally:
            stop.set()
            watcher.join()
    assert remote.refs()["refs/heads/topic"] == sha
    assert server.authorizations() == {server.expects()}
    assert _reaching_out(seen)
    assert [line for line in seen if b"GIT_CONFIG_COUNT=" in line and b"/dev/fd/" in line]
    for secret in spellings():
        assert not [line for line in seen if secret in line]
        assert not list(_files_with(realm.root, secret))


def _reaching_out(seen: set[bytes]) -> list[bytes]:
    return [line for line in list(seen) if b"git-remote-http" in line or b"http-fetch" in line]


def _watch(stop: threading.Event, seen: set[bytes]) -> None:
    """Every command line and environment that anybody could see meanwhile."""
    while not stop.is_set():
        for pid in filter(str.isdecimal, os.listdir("/proc")):
            for name in ("cmdline", "environ"):
                with suppress(OSError):
                    seen.add(Path("/proc", pid, name).read_bytes())


def _files_with(root: Path, secret: bytes) -> list[Path]:
    found = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in found if secret in path.read_bytes()]


def test_a_soldier_finds_no_token_in_its_worktree_and_cannot_fetch_with_it(realm: Realm) -> None:
    realm.remote()
    with git_server(realm.remotes, TOKEN) as server:
        realm.settings["url"] = server.url
        found = realm.repositories().prepare("acme/shop", "task-1")
        said = subprocess.run(
            ["git", "fetch"], cwd=found.path, capture_output=True, check=False,
            env={"PATH": os.environ["PATH"], "GIT_TERMINAL_PROMPT": "0"},
        )  # fmt: skip
        assert said.returncode != 0
        assert "@" not in git(found.path, "remote", "get-url", "origin")


@pytest.mark.parametrize(
    ("server_does", "expected"),
    [
        ({"token": "another"}, GitRefused),
        ({"status": 403}, GitRefused),
        ({"status": 404}, RepositoryMissing),
        ({"status": 429}, GitUnreachable),
        ({"status": 500}, GitUnreachable),
        ({"status": 503}, GitUnreachable),
        ({"cut_after": 20}, GitUnreachable),
        ({"stalls": True}, GitUnreachable),
    ],
    ids=str,
)
def test_what_a_server_says_decides_whether_to_try_again(
    realm: Realm, server_does: dict[str, object], expected: type[KingdomError]
) -> None:
    realm.remote()
    with git_server(realm.remotes, TOKEN) as server:
        realm.settings["url"] = server.url
        for name, value in server_does.items():
            setattr(server, name, value)
        patience = 2.0 if server.stalls else 60.0
        with pytest.raises(expected) as caught:
            realm.repositories(timeout_seconds=patience).prepare("acme/shop", "task-1")
    assert TOKEN not in str(caught.value)
    assert TOKEN not in repr(caught.value.__context__)


def test_a_server_that_is_gone_or_has_no_such_repository(realm: Realm) -> None:
    realm.remote()
    with git_server(realm.remotes, TOKEN) as server:
        realm.settings["url"] = server.url
        with pytest.raises(RepositoryMissing):
            realm.repositories().prepare("acme/other", "task-1")
    with pytest.raises(GitUnreachable):
        realm.repositories().prepare("acme/shop", "task-1")


def test_without_a_token_a_private_repository_asks_nobody_and_says_what_to_do(
    realm: Realm,
) -> None:
    realm.remote()
    del realm.environment["GH_TOKEN"]
    with git_server(realm.remotes, TOKEN) as server:
        realm.settings["url"] = server.url
        with pytest.raises(GitRefused, match="GH_TOKEN"):
            realm.repositories().prepare("acme/shop", "task-1")


def test_a_redirect_to_another_host_does_not_take_the_token_along(realm: Realm) -> None:
    realm.remote()
    with git_server(realm.remotes, TOKEN) as thief, git_server(realm.remotes, TOKEN) as server:
        realm.settings["url"] = server.url
        server.redirect = f"http://localhost:{thief.port}"
        with pytest.raises(KingdomError):
            realm.repositories().prepare("acme/shop", "task-1")
        assert thief.seen
        assert thief.authorizations() == set()


def gh_login(realm: Realm) -> Path:
    """Where the login lies that its gh knows."""
    del realm.environment["GH_TOKEN"]
    programs = realm.root / "bin"
    programs.mkdir()
    (programs / "gh").write_text(
        f'#!/bin/sh\n[ "$*" = "auth token --hostname 127.0.0.1" ] && cat {realm.root}/token\n'
    )
    (programs / "gh").chmod(0o755)
    realm.environment["PATH"] = f"{programs}:{realm.environment['PATH']}"
    return realm.root / "token"


def test_gh_is_asked_when_there_is_no_token(realm: Realm) -> None:
    realm.remote()
    gh_login(realm).write_text(f"{TOKEN}\n")
    with git_server(realm.remotes, TOKEN) as server:
        realm.settings |= {"url": server.url, "use_gh": True}
        assert realm.repositories().prepare("acme/shop", "task-1").head


def test_a_login_counts_from_when_it_is_there_and_again_when_it_is_another(realm: Realm) -> None:
    realm.remote()
    login = gh_login(realm)
    with git_server(realm.remotes, TOKEN) as server:
        realm.settings |= {"url": server.url, "use_gh": True, "fresh_seconds": 0.0}
        repositories = realm.repositories()
        with pytest.raises(GitRefused):
            repositories.prepare("acme/shop", "task-1")
        login.write_text(f"{TOKEN}\n")
        assert repositories.prepare("acme/shop", "task-2").head
        server.token = "another"
        with pytest.raises(GitRefused):
            repositories.prepare("acme/shop", "task-3")
        login.write_text("another\n")
        assert repositories.prepare("acme/shop", "task-4").head


def test_gh_looks_where_its_login_lies_and_is_told_no_token(scratch: Path) -> None:
    gh = scratch / "gh"
    gh.write_text('#!/bin/sh\necho "$GH_CONFIG_DIR,$GH_ENTERPRISE_TOKEN,"\n')
    gh.chmod(0o755)
    known = {"PATH": f"{scratch}:{os.environ['PATH']}", "GH_CONFIG_DIR": "/its/own"}
    hosts = Hosts(GitSettings(), known | {"GH_ENTERPRISE_TOKEN": TOKEN}, frozenset([ELSEWHERE]))
    assert hosts.access(hosts.remote(ELSEWHERE)).token == "/its/own,,"


ELSEWHERE = "https://git.elsewhere.example/a/b"
EVIL = "#!/bin/sh\nenv > {root}/stolen-$$; touch {root}/ran\n"


def _poison(realm: Realm, place: str, script: Path) -> None:
    """All that a soldier could write to make the general's git run something."""
    own = Path(place, ".git")
    if not own.exists():
        return
    for name in ("pre-push", "post-checkout", "reference-transaction", "post-index-change",
                 "pre-auto-gc", "post-merge", "post-commit"):  # fmt: skip
        (own / "hooks").mkdir(exist_ok=True)
        (own / "hooks" / name).write_text(script.read_text())
        (own / "hooks" / name).chmod(0o755)
    settings = {
        "core.fsmonitor": str(script), "core.sshCommand": str(script), "core.pager": str(script),
        "core.askPass": str(script), "core.gitProxy": str(script), "core.editor": str(script),
        "core.hooksPath": f"{own}/hooks", "core.alternateRefsCommand": str(script),
        "credential.helper": f"!{script}", "filter.evil.clean": str(script),
        "filter.evil.smudge": str(script), "filter.evil.process": str(script),
        "filter.evil.required": "true", "diff.external": str(script),
        "diff.evil.textconv": str(script), "diff.evil.command": str(script),
        "merge.evil.driver": str(script), "gpg.program": str(script), "commit.gpgSign": "true",
        "push.gpgSign": "if-asked", "protocol.ext.allow": "always", "protocol.allow": "always",
        "remote.origin.url": f"ext::{script}", "remote.origin.pushurl": f"ext::{script}",
        "remote.origin.uploadpack": str(script), "remote.origin.receivepack": str(script),
        "remote.origin.vcs": "ext", "remote.origin.promisor": "true",
        f"url.ext::{script}.insteadOf": "http://", "alias.fetch": f"!{script}",
        "alias.push": f"!{script}", "uploadpack.packObjectsHook": str(script),
        "gc.recentObjectsHook": str(script), "core.worktree": "/etc",
        "http.proxy": "http://127.0.0.1:1", "http.extraHeader": "X-Evil: 1",
        "include.path": "/etc/passwd.none", "submodule.recurse": "true",
    }  # fmt: skip
    poisoned = realm.root / "poisoned"
    if not poisoned.exists():
        for key, value in settings.items():
            git("/", "config", "--file", str(poisoned), key, value)
    (own / "config").write_text((own / "config").read_text() + poisoned.read_text())
    Path(place, ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    (own / "info").mkdir(exist_ok=True)
    (own / "info" / "attributes").write_text("* filter=evil\n")


def test_nothing_that_a_soldier_wrote_runs_with_the_general(realm: Realm) -> None:
    remote = realm.remote()
    script = realm.root / "evil"
    script.write_text(EVIL.format(root=realm.root))
    script.chmod(0o755)
    with git_server(realm.remotes, TOKEN) as server:
        realm.settings["url"] = server.url
        repositories = realm.repositories(fresh_seconds=0.0)
        found = repositories.prepare("acme/shop", "task-1")
        Path(found.path, "a.txt").write_text("work")
        git(found.path, "commit", "-qam", "work")
        nested = Path(found.path, "nested")
        nested.mkdir()
        git(nested, "init", "-q")
        git(nested, "config", "core.fsmonitor", str(script))
        Path(found.path, "a.txt").write_text("more work")

        def poison() -> None:
            _poison(realm, found.path, script)

        poison()
        sha = repositories.push(found, "topic")
        poison()
        assert repositories.keep("task-1")
        poison()
        repositories.prepare("acme/shop", "task-1")
        poison()
        other = repositories.prepare("acme/shop", "task-2")
        poison()
        repositories.remove("task-1")
        poison()
        repositories.survey()
    assert remote.refs()["refs/heads/topic"] == sha
    assert not (realm.root / "ran").exists()
    assert server.authorizations() == {server.expects()}
    assert Path(other.path, "a.txt").read_text() == "one\n"


@pytest.mark.parametrize("protocol", ["ext", "ssh", "file"])
def test_an_object_that_is_not_there_is_not_fetched_from_where_a_soldier_says(
    realm: Realm, protocol: str
) -> None:
    realm.remote()
    script = realm.root / "evil"
    script.write_text(EVIL.format(root=realm.root))
    script.chmod(0o755)
    repositories = realm.repositories()
    found = repositories.prepare("acme/shop", "task-1")
    urls = {"ext": f"ext::{script}", "ssh": "ssh://host/x", "file": str(realm.remotes)}
    Path(found.path, ".git/config").write_text(
        "[core]\n\trepositoryFormatVersion = 1\n\tbare = false\n"
        f"\tsshCommand = {script}\n[extensions]\n\tpartialClone = origin\n"
        f'[remote "origin"]\n\tpromisor = true\n\turl = {urls[protocol]}\n'
        f"\tuploadpack = {script}\n[protocol]\n\tallow = always\n"
    )
    Path(found.path, ".git/MERGE_HEAD").write_text(f"{'2' * 40}\n")
    assert repositories.keep("task-1") == []
    assert not (realm.root / "ran").exists()


def test_what_one_soldier_wrote_for_git_does_not_meet_the_next(realm: Realm) -> None:
    realm.remote()
    script = realm.root / "evil"
    script.write_text(EVIL.format(root=realm.root))
    script.chmod(0o755)
    repositories = realm.repositories()
    found = repositories.prepare("acme/shop", "task-1")
    _poison(realm, found.path, script)
    for task in ("task-1", "task-2"):
        other = repositories.prepare("acme/shop", task)
        Path(other.path, "a.txt").write_text("work")
        git(other.path, "commit", "-qam", "work")
        git(other.path, "status")
    assert not (realm.root / "ran").exists()


def test_the_content_of_a_repository_cannot_make_git_fetch_from_elsewhere(realm: Realm) -> None:
    remote = realm.remote()
    secret = realm.remote("victim/secret")
    with git_server(realm.remotes, TOKEN) as server:
        realm.settings["url"] = server.url
        repositories = realm.repositories()
        for number, url in enumerate(
            [str(secret.path), f"file://{secret.path}", "ext::sh -c true", "ssh://example.org/x",
             "-u./evil", "--upload-pack=true"]
        ):  # fmt: skip
            gitmodules = f'[submodule "x"]\n\tpath = x\n\turl = {url}\n'
            head = secret.refs()["refs/heads/main"]
            remote.write({".gitmodules": gitmodules})
            git(remote.elsewhere, "add", ".gitmodules")
            git(remote.elsewhere, "update-index", "--add", "--cacheinfo", f"160000,{head},x")
            git(remote.elsewhere, "commit", "-qm", "x")
            git(remote.elsewhere, "push", "-q", "origin", f"HEAD:refs/heads/b{number}")
            with pytest.raises(RepositoryRefused):
                repositories.prepare("acme/shop", f"task-{number}", base_branch=f"b{number}")
            assert not Path(realm.base.workspace, "gen-pr", f"task-{number}", "repo").exists()
        # By http from the same host, but of another owner: without the token, so refused.
        url = server.url.replace("{repo}", "victim/secret")
        remote.write({".gitmodules": f'[submodule "x"]\n\tpath = x\n\turl = {url}\n'})
        git(remote.elsewhere, "add", ".gitmodules")
        git(remote.elsewhere, "commit", "-qm", "x")
        git(remote.elsewhere, "push", "-q", "origin", "HEAD:refs/heads/other")
        with pytest.raises(GitRefused):
            repositories.prepare("acme/shop", "task-x", base_branch="other")


def test_a_tree_that_leads_outside_is_refused(realm: Realm) -> None:
    library = realm.remote("acme/library")
    remote = realm.remote()
    head = library.refs()["refs/heads/main"]
    remote.write({".gitmodules": f'[submodule "x"]\n\tpath = ../x\n\turl = {library.path}\n'})
    git(remote.elsewhere, "add", "-A")
    entries = git(remote.elsewhere, "ls-tree", git(remote.elsewhere, "write-tree"))
    pinned = f"160000 commit {head}\tx\n".encode()
    inner = git(remote.elsewhere, "mktree", "--missing", stdin=pinned)
    whole = f"040000 tree {inner}\t..\n{entries}\n".encode()
    tree = git(remote.elsewhere, "mktree", "--missing", stdin=whole)
    commit = git(remote.elsewhere, "commit-tree", tree, "-m", "x")
    git(remote.elsewhere, "push", "-q", "origin", f"{commit}:refs/heads/outside")
    with pytest.raises(KingdomError):
        realm.repositories().prepare("acme/shop", "task-1", base_branch="outside")
    assert list(Path(realm.base.workspace, "gen-pr", "task-1").iterdir()) == []
    assert realm.leftovers() == []


@pytest.mark.parametrize(
    "name",
    ["/etc", "file:///etc", "ssh://evil.example/x", "git@evil.example:x/y", "https://evil/x/y",
     "ext::sh -c id", "-oProxyCommand=id/x", "--upload-pack=id", "acme", "acme/", "/acme/shop",
     "acme/../../etc", "acme/..", "./shop", "acme/shop\n", "acme/shop?x", "acme/shop#x", "a b/c",
     "acme@evil/shop", "acme:x/shop", "acme//shop", "", "acme/-shop", "ａcme/shop",
     "a/" + "b" * 600],
)  # fmt: skip
def test_an_event_can_name_nothing_but_owner_and_name(realm: Realm, name: str) -> None:
    with pytest.raises(NeverWorks):
        realm.repositories().prepare(name, "task-1")
    assert not is_name(name)


@pytest.mark.parametrize(
    "name", ["acme/shop", "a/b/c", "acme/.github", "A-1/x.y_z", "acme/shop.git"]
)
def test_names_that_hosts_give_out_are_taken(name: str) -> None:
    assert is_name(name)


def test_paths_and_addresses_count_where_the_configuration_spells_them(realm: Realm) -> None:
    remote = realm.remote("some where/repo")
    realm.configured = frozenset({str(remote.path)})
    assert realm.repositories().prepare(str(remote.path), "task-1").head
    with pytest.raises(RepositoryRefused):
        realm.repositories().prepare(str(remote.path) + "/", "task-2")


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(RepositoryRefused) as caught:
        read_url(f"https://me:{TOKEN}@example.org/a/b")
    assert TOKEN not in str(caught.value)
    with pytest.raises(ConfigurationError):
        Hosts(GitSettings(url="https://example.org/"), {})


def test_a_token_goes_only_to_the_host_that_it_is_for() -> None:
    environment = {"GH_TOKEN": "of-hub", "LAB": "lab", "GH_ENTERPRISE_TOKEN": "enterprise"}
    urls = ("https://lab.example/a/b", "https://other.example/a/b", "http://github.com/a/b",
            "git@github.com:a/b.git", "https://github.com.evil.example/a/b")  # fmt: skip
    configured = frozenset(urls)
    settings = GitSettings(tokens={"lab.example": "LAB"}, use_gh=False)
    hosts = Hosts(settings, environment, configured)
    given = [hosts.access(hosts.remote(url)).token for url in urls]
    assert given == ["lab", "", "", "", ""]
    assert hosts.access(hosts.remote("acme/shop")).token == "of-hub"
    company = GitSettings(url="https://git.company.example/{repo}.git", use_gh=False,
                          token_env="NONE")  # fmt: skip
    own = Hosts(company, environment)
    assert own.access(own.remote("acme/shop")).token == "enterprise"
    assert "of-hub" not in repr(hosts.access(hosts.remote("acme/shop")))


def test_submodules_are_found_where_git_would_look_for_them() -> None:
    hosts = Hosts(GitSettings(use_gh=False), {"GH_TOKEN": "x"})
    main = hosts.remote("acme/shop")
    found = {
        url: hosts.submodule(main, url)
        for url in ("../lib.git", "../../other/lib", "git@github.com:acme/lib.git",
                    "https://example.org/x/y")
    }  # fmt: skip
    assert {url: remote.url for url, remote in found.items()} == {
        "../lib.git": "https://github.com/acme/lib.git",
        "../../other/lib": "https://github.com/other/lib",
        "git@github.com:acme/lib.git": "https://github.com/acme/lib.git",
        "https://example.org/x/y": "https://example.org/x/y",
    }
    tokens = {url: hosts.access(remote).token for url, remote in found.items()}
    assert list(tokens.values()) == ["x", "", "x", ""]
    ssh = read_url("git@example.org:acme/shop.git")
    assert hosts.submodule(ssh, "../lib.git").url == "ssh://git@example.org/acme/lib.git"
    local = read_url("/srv/git/acme/shop.git")
    assert hosts.submodule(local, "../lib.git").url == "/srv/git/acme/lib.git"


def test_no_two_addresses_share_a_clone() -> None:
    urls = ["https://a/b/c.git", "https://a/B/c.git", "https://a/b-c/d", "https://a/b/c-d",
            "https://x/b/c.git", "/b/c.git"]  # fmt: skip
    slugs = {slug(read_url(url)) for url in urls}
    assert len({name.lower() for name in slugs}) == len(urls)
    assert not [name for name in slugs if "/" in name or name.startswith((".", "-"))]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("fatal: unable to access 'https://x/': Could not resolve host: x", GitUnreachable),
        ("error: RPC failed; HTTP 502 curl 22 The requested URL returned error: 502",
         GitUnreachable),
        ("ssh: connect to host x port 22: Connection timed out\nfatal: Could not read from remote "
         "repository.", GitUnreachable),
        ("fatal: early EOF\nfatal: fetch-pack: invalid index-pack output", GitUnreachable),
        ("git@x: Permission denied (publickey).\nfatal: Could not read from remote repository.",
         GitRefused),
        ("remote: Support for password authentication was removed.\nfatal: Authentication failed "
         "for 'https://x/'", GitRefused),
        ("ERROR: Repository not found.\nfatal: Could not read from remote repository.",
         RepositoryMissing),
        ("fatal: couldn't find remote ref refs/pull/9/head", RefMissing),
        ("fatal: Unable to create '/x/packed-refs.lock': File exists.", GitBusy),
        ("fatal: write error: No space left on device\nfatal: index-pack failed", DiskRefused),
        ("remote: fatal: bad object, corrupt\nfatal: something else", GitFailed),
    ],
)  # fmt: skip
def test_what_git_says_is_understood(said: str, expected: type[KingdomError]) -> None:
    found = failure_of("fetch", said, True)
    assert type(found) is expected
    assert isinstance(found, TryLater | NeverWorks)
    assert found.remedy


def test_a_git_too_old_to_be_told_what_not_to_run_is_not_run(realm: Realm) -> None:
    programs = realm.root / "bin"
    programs.mkdir()
    (programs / "git").write_text("#!/bin/sh\necho git version 2.25.1\n")
    (programs / "git").chmod(0o755)
    realm.environment["PATH"] = f"{programs}:{realm.environment['PATH']}"
    with pytest.raises(GitMissing, match=r"too old: 2\.25\.1.* 2\.32 or newer"):
        realm.repositories().prepare("acme/shop", "task-1")


def test_the_user_s_own_configuration_counts_only_where_it_is_wanted(realm: Realm) -> None:
    realm.remote()
    home = Path(realm.environment["HOME"])
    home.mkdir()
    (home / ".gitconfig").write_text(f'[url "{realm.remotes}/"]\n\tinsteadOf = /nowhere/\n')
    realm.settings["url"] = "/nowhere/{repo}.git"
    with pytest.raises(RepositoryMissing):
        realm.repositories().prepare("acme/shop", "task-1")
    assert realm.repositories(user_config=True).prepare("acme/shop", "task-1").head


def test_ssh_uses_the_user_s_agent_and_asks_nothing(realm: Realm) -> None:
    remote = realm.remote()
    programs = realm.root / "bin"
    programs.mkdir()
    (programs / "ssh").write_text(
        f'#!/bin/sh\necho "$SSH_AUTH_SOCK" "$@" >> {realm.root}/asked\n'
        'for last; do :; done; exec sh -c "$last"\n'
    )
    (programs / "ssh").chmod(0o755)
    realm.environment |= {
        "PATH": f"{programs}:{realm.environment['PATH']}",
        "SSH_AUTH_SOCK": "/run/agent",
    }
    realm.settings["url"] = f"ssh://git@example.org{realm.remotes}/{{repo}}.git"
    repositories = realm.repositories()
    found = repositories.prepare("acme/shop", "task-1")
    assert repositories.push(found, "topic") == remote.refs()["refs/heads/topic"]
    asked = (realm.root / "asked").read_text().splitlines()
    assert all("/run/agent " in line and "BatchMode=yes" in line for line in asked)
    assert TOKEN not in "".join(asked)


def test_without_git_there_is_a_sentence(realm: Realm) -> None:
    realm.environment["PATH"] = str(realm.root)
    with pytest.raises(GitMissing, match="git is not installed"):
        realm.repositories().prepare("acme/shop", "task-1")
