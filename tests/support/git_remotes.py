"""Real remotes for git: bare repositories on disk, also behind http with a token.

The server runs git's own `http-backend`; a test tells it to be slow, to fail, or to send elsewhere.
"""

from __future__ import annotations

import atexit
import base64
import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from kingdom.clients.git import Git
from kingdom.clients.git_hosts import GitSettings
from kingdom.general.checkouts.repositories import Repositories
from kingdom.store.paths import BaseDir
from tests.support.waiting import eventually

ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "someone",
    "GIT_AUTHOR_EMAIL": "someone@example.org",
    "GIT_COMMITTER_NAME": "someone",
    "GIT_COMMITTER_EMAIL": "someone@example.org",
    "GIT_ALLOW_PROTOCOL": "file:http:https",
}


def git(place: Path | str, *words: str, stdin: bytes = b"", check: bool = True) -> str:
    """As a person or a soldier would run it there."""
    done = subprocess.run(
        ["git", *words], cwd=place, env=ENVIRONMENT, input=stdin, capture_output=True, check=False
    )
    said = done.stdout.decode("utf-8", "surrogateescape")
    if check and done.returncode:
        raise AssertionError(f"git {words}: {done.stderr.decode(errors='replace')}")
    return said.strip()


@cache
def _template(files: tuple[tuple[str, str], ...]) -> Path:
    """Both of them, with one commit if there are files; copying is cheaper than making."""
    place = Path(tempfile.mkdtemp(prefix="kingdom-test-git-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    bare, elsewhere = place / "bare", place / "elsewhere"
    git(place, "init", "-q", "--bare", "--template=", "-b", "main", str(bare))
    git(bare, "config", "http.receivepack", "true")
    git(bare, "config", "uploadpack.allowFilter", "true")
    git(place, "clone", "-q", "--template=", str(bare), str(elsewhere))
    git(elsewhere, "checkout", "-q", "-B", "main")
    if files:
        for name, content in files:
            (elsewhere / name).parent.mkdir(parents=True, exist_ok=True)
            (elsewhere / name).write_text(content, "utf-8")
        git(elsewhere, "add", "-A")
        git(elsewhere, "commit", "-qm", "first")
        git(elsewhere, "push", "-q", "origin", "main")
    return place


class BareRemote:
    """A bare repository, and a checkout in which others work on it."""

    def __init__(self, path: Path, files: Mapping[str, str] | None = None) -> None:
        self.path = path
        self.elsewhere = path.with_name(f"{path.name}-elsewhere")
        template = _template(tuple((files or {}).items()))
        shutil.copytree(template / "bare", path)
        shutil.copytree(template / "elsewhere", self.elsewhere)
        config = self.elsewhere / ".git" / "config"
        config.write_text(config.read_text().replace(str(template / "bare"), str(path)))

    def commit(
        self, files: dict[str, str | bytes | None], *, branch: str = "main", message: str = "work"
    ) -> str:
        """Pushed; None deletes a file."""
        self.write(files)
        git(self.elsewhere, "add", "-A")
        git(self.elsewhere, "commit", "-q", "--allow-empty", "-m", message)
        git(self.elsewhere, "push", "-q", "--force", "origin", f"HEAD:refs/heads/{branch}")
        return git(self.elsewhere, "rev-parse", "HEAD")

    def write(self, files: dict[str, str | bytes | None]) -> None:
        for name, content in files.items():
            path = self.elsewhere / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.unlink()
            elif isinstance(content, bytes):
                path.write_bytes(content)
            else:
                path.write_text(content, "utf-8")

    def pull_request(
        self, number: int, files: dict[str, str | bytes | None], base: str = "main"
    ) -> str:
        """As GitHub has it: a ref that is no branch. The next commit starts from main again."""
        git(self.elsewhere, "checkout", "-q", "--detach", f"origin/{base}")
        self.write(files)
        git(self.elsewhere, "add", "-A")
        git(self.elsewhere, "commit", "-q", "-m", f"pull request {number}")
        git(self.elsewhere, "push", "-q", "--force", "origin", f"HEAD:refs/pull/{number}/head")
        sha = git(self.elsewhere, "rev-parse", "HEAD")
        git(self.elsewhere, "checkout", "-q", "main")
        return sha

    def branch_off(self, branch: str, files: dict[str, str | bytes | None]) -> str:
        """A branch with one commit more than main has."""
        git(self.elsewhere, "checkout", "-q", "--detach", "origin/main")
        sha = self.commit(files, branch=branch)
        git(self.elsewhere, "checkout", "-q", "main")
        return sha

    def refs(self) -> dict[str, str]:
        said = git(self.path, "for-each-ref", "--format=%(refname) %(objectname)")
        return dict(line.split(" ") for line in said.split("\n") if line)


@dataclass
class GitServer:
    """What a test may change while it runs."""

    root: Path
    token: str = ""
    answers_when: Callable[[], object] = lambda: True
    stalls: bool = False  # after the first bytes of an answer, as long as the server is there
    status: int = 0  # instead of an answer
    redirect: str = ""  # to this address
    cut_after: int = 0  # bytes of an answer, then the line is dropped
    port: int = 0
    seen: list[tuple[str, str]] = field(default_factory=list)  # path, Authorization
    large: dict[str, bytes] = field(default_factory=dict)  # what git-lfs brought, by its hash
    closed: threading.Event = field(default_factory=threading.Event)
    hook: Callable[[str], None] = lambda path: None  # is told of each request before its answer

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{{repo}}.git"

    def authorizations(self) -> set[str]:
        return {word for _, word in self.seen if word}

    def expects(self) -> str:
        pair = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
        return f"Basic {pair}"


@contextmanager
def git_server(root: Path, token: str = "") -> Iterator[GitServer]:
    facts = GitServer(root, token)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            _answer(self, facts)

        do_POST = do_PUT = do_GET

        def log_message(self, *arguments: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    facts.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield facts
    finally:
        facts.closed.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _answer(handler: BaseHTTPRequestHandler, facts: GitServer) -> None:
    given = handler.headers.get("Authorization", "")
    facts.seen.append((handler.path, given))
    body = _body(handler)
    eventually(lambda: facts.closed.is_set() or facts.answers_when(), "it may answer")
    facts.hook(handler.path)
    if facts.redirect:
        return _plain(handler, 302, {"Location": facts.redirect + handler.path})
    if facts.token and given != facts.expects():
        return _plain(handler, 401, {"WWW-Authenticate": 'Basic realm="git"'})
    if facts.status:
        return _plain(handler, facts.status)
    if "/info/lfs/" in handler.path or handler.path.startswith("/large/"):
        return _large(handler, facts, body)
    path, _, query = handler.path.partition("?")
    environment = {
        **ENVIRONMENT,
        "GIT_PROJECT_ROOT": str(facts.root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "REQUEST_METHOD": handler.command,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": handler.headers.get("Content-Type", ""),
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_CONTENT_ENCODING": handler.headers.get("Content-Encoding", ""),
        "GIT_PROTOCOL": handler.headers.get("Git-Protocol", ""),
        "REMOTE_USER": "someone",
        "REMOTE_ADDR": "127.0.0.1",
    }
    done = subprocess.run(
        ["git", "http-backend"], env=environment, input=body, capture_output=True, check=False
    )
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    lines = [line.partition(": ")[::2] for line in head.decode().split("\r\n") if line]
    headers = dict(lines)
    status = int(headers.pop("Status", "200").split(" ")[0])
    return _plain(handler, status, headers, content, facts)


def _large(handler: BaseHTTPRequestHandler, facts: GitServer, body: bytes) -> None:
    """The batch API of git-lfs, and where it sends to."""
    id_ = handler.path.removeprefix("/large/")
    if handler.command == "PUT":
        facts.large[id_] = body
        return _plain(handler, 200)
    if handler.command == "GET":
        return _plain(
            handler, 200 if id_ in facts.large else 404, content=facts.large.get(id_, b"")
        )
    if not handler.path.endswith("/objects/batch"):
        return _plain(handler, 404)
    asked = json.loads(body)
    objects = [
        {
            **one,
            "authenticated": True,
            "actions": {
                asked["operation"]: {
                    "href": f"http://127.0.0.1:{facts.port}/large/{one['oid']}",
                    "header": {"Authorization": facts.expects()},
                }
            },
        }
        for one in asked["objects"]
    ]
    content = json.dumps({"transfer": "basic", "objects": objects}).encode()
    return _plain(handler, 200, {"Content-Type": "application/vnd.git-lfs+json"}, content)


def _body(handler: BaseHTTPRequestHandler) -> bytes:
    if handler.headers.get("Transfer-Encoding", "") != "chunked":
        return handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
    parts = []
    while size := int(handler.rfile.readline().strip() or b"0", 16):
        parts.append(handler.rfile.read(size))
        handler.rfile.readline()
    handler.rfile.readline()
    return b"".join(parts)


def _plain(
    handler: BaseHTTPRequestHandler,
    status: int,
    headers: dict[str, str] | None = None,
    content: bytes = b"",
    facts: GitServer | None = None,
) -> None:
    handler.send_response(status)
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    try:
        if facts is not None and facts.cut_after and len(content) > facts.cut_after:
            handler.wfile.write(content[: facts.cut_after])
            handler.wfile.flush()
            handler.close_connection = True
            handler.connection.close()
        elif facts is not None and facts.stalls:
            handler.wfile.write(content[:64])
            handler.wfile.flush()
            facts.closed.wait()
        else:
            handler.wfile.write(content)
    except OSError:  # git went away
        handler.close_connection = True


class Realm:
    """A general with repositories whose remotes lie on this disk, and what a soldier would do."""

    GENERAL = "gen-pr"

    def __init__(self, root: Path, **settings: Any) -> None:
        self.root = root
        self.remotes = root / "remotes"
        self.base = BaseDir(root / "base")
        self.environment = {"PATH": ENVIRONMENT["PATH"], "HOME": str(root / "home")}
        self.settings = {"url": f"{self.remotes}/{{repo}}.git", "use_gh": False, **settings}
        self.configured: frozenset[str] = frozenset()

    def remote(self, repo: str = "acme/shop", **files: str) -> BareRemote:
        first = files or {"a.txt": "one\n", "dir/b.txt": "two\n"}
        return BareRemote(self.remotes / f"{repo}.git", first)

    def repositories(self, git: Git | None = None, **settings: Any) -> Repositories:
        """As a general that was just started has them."""
        chosen = GitSettings(**(self.settings | settings))
        runner = git or Git(self.environment, chosen.timeout_seconds)
        return Repositories(
            self.base, self.GENERAL, runner, self.environment, chosen, self.configured
        )

    @property
    def clones(self) -> Path:
        return Path(self.base.workspace, self.GENERAL, ".clones")

    def leftovers(self) -> list[str]:
        return sorted(path.name for path in self.clones.glob(".work-*"))


def kept_files(clone: str, ref: str) -> dict[str, str]:
    """Path: content."""
    entries = git(clone, "ls-tree", "-r", "-z", ref).split("\0")
    found = [entry.split("\t", 1) for entry in entries if " blob " in entry]
    return {name: git(clone, "cat-file", "blob", facts.split(" ")[2]) for facts, name in found}
