"""The GitHub that `emulate` offers: repositories, pull requests, reviews; no notifications.

It knows two people: ann, who belongs to acme, and eve, who does not.
"""

from __future__ import annotations

import json
import shutil
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.support import programs
from tests.support.listening import listening

ANN, EVE = "ghp_ann", "ghp_eve"
_SEED = {
    "tokens": {
        ANN: {"login": "ann", "scopes": ["repo", "user"]},
        EVE: {"login": "eve", "scopes": ["repo", "user"]},
    },
    "github": {
        "users": [{"login": "ann"}, {"login": "eve"}],
        "orgs": [{"login": "acme", "members": [{"login": "ann", "role": "admin"}]}],
        "repos": [{"owner": "acme", "name": "web", "auto_init": True}],
    },
}
# By itself it listens at a port that is given to it, for everybody.
_START = """
import net from "node:net";
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function () {
  return listen.call(this, 0, "127.0.0.1", () =>
    console.log(`listening on http://127.0.0.1:${this.address().port}`));
};
const [module, service, seed] = process.argv.slice(2);
const { createEmulator } = await import(module);
await createEmulator({ service, seed: JSON.parse(seed) });
"""


class Emulated:
    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, verb: str, path: str, token: str = ANN, **given: Any) -> Any:
        data = None if verb == "GET" else json.dumps(given).encode()
        headers = {"Authorization": f"token {token}"}
        with urlopen(Request(self.url + path, data, headers, method=verb)) as answer:
            return json.load(answer)

    def commit(self, repo: str, branch: str, token: str = ANN) -> str:
        """On a branch of its own; answers which."""
        main = self.ask("GET", f"/repos/{repo}/git/ref/heads/main", token)
        start = {"ref": f"refs/heads/{branch}", "sha": main["object"]["sha"]}
        self.ask("POST", f"/repos/{repo}/git/refs", token, **start)
        content = {"message": "It", "content": b64encode(b"it\n").decode(), "branch": branch}
        done = self.ask("PUT", f"/repos/{repo}/contents/{branch}.txt", token, **content)
        return str(done["commit"]["sha"])


@contextmanager
def emulated(scratch: Path) -> Iterator[Emulated]:
    with started(scratch, "github", _SEED) as url:
        yield Emulated(url)


@contextmanager
def started(scratch: Path, service: str, seed: dict[str, Any]) -> Iterator[str]:
    """The address of a service that `emulate` offers, with this in it."""
    script = scratch / "start.mjs"
    script.write_text(_START)
    module = programs.emulate()  # which npm has installed, so there is node
    argv = [shutil.which("node") or "node", str(script), str(module), service, json.dumps(seed)]
    with listening(argv, scratch / "emulate.log") as url:
        yield url
