"""Codex as an engine: how it is started, followed and judged.

It runs on the user's own home (`~/.codex`), where the login is, and gets all its settings as
arguments. The user's `config.toml` is not read unless wanted: it could start other programs and
undo the sandbox. A repository's own `.codex/` is not read either, since nobody trusts it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from kingdom.engines.codex import configuration, judging, sandbox, schemas, sessions, stream
from kingdom.engines.codex.progress import Progress
from kingdom.engines.masked import Masked
from kingdom.engines.port import Availability, Evidence, ModelAccess, Order, Plan, Verdict
from kingdom.engines.program import Program
from kingdom.store import disk
from kingdom.store.paths import BaseDir

INSTALL = "npm install -g @openai/codex"
SCHEMA_SUFFIX = ".schema"
LIMITATIONS = (
    "Codex tells no cost: tasks have tokens, and no cost_usd.",
    "Codex has no limit of turns or of money: what stops a soldier is its timeout.",
    "Codex counts tokens at the end of a run: those of one that was ended by force are counted "
    "with the next run of its session.",
    "Codex chooses the session id itself: a soldier that dies before it printed one starts anew.",
    "Codex cannot allow single commands: without an editing tool or Bash in permissions.tools the "
    "workspace is read-only, and without Bash there is no network.",
    "Codex keeps soldiers in a sandbox that needs user namespaces; where there are none, set "
    "runtime.codex.sandbox to false.",
    "Codex reads the AGENTS.md and the hooks.json of the user's own ~/.codex as well; with a "
    "hooks.json there, a missing result is not asked for.",
)


class CodexEngine:
    name = "codex"
    access = ModelAccess(
        url="https://api.openai.com/v1",
        url_variable="OPENAI_BASE_URL",
        paths=("/responses", "/models"),
        credentials=configuration.CREDENTIALS,
        login_file="auth.json",
        login_hosts=("chatgpt.com", "auth.openai.com", "api.openai.com"),
    )

    def __init__(
        self,
        command: str,
        environment: Mapping[str, str],
        root: str = "",
        *,
        model: str | None = None,
        sandboxed: bool = True,
        network: bool = True,
        user_config: bool = False,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        """`root` is the base directory; `config` are further settings of the program's own, named
        as in its config.toml (`model_reasoning_effort`, `model_providers.mine.base_url`)."""
        self._program = Program(command, environment, root)
        self._root = root
        self._model = model
        self._sandboxed = sandboxed
        self._network = network
        self._user_config = user_config
        self._config = dict(config or {})
        self._progress = Progress(Masked(environment))

    def availability(self) -> Availability:
        return self._program.availability("Codex", self.name, INSTALL)

    def program(self) -> str | None:
        return self._program.path()

    def plan(self, order: Order) -> Plan:
        continued = order.session_id if sessions.can_continue(order) else None
        schema = schemas.strict(order.result_schema)
        path = os.path.join(BaseDir(self._root).soldiers, order.soldier_id + SCHEMA_SUFFIX)
        argv = (
            self._program.word(),
            *(("exec", "resume") if continued else ("exec",)),
            *("--json", "--skip-git-repo-check", "--ignore-rules"),
            *(() if self._user_config else ("--ignore-user-config",)),
            *(("--model", model) if (model := order.model or self._model) else ()),
            *(("--output-schema", path) if schema else ()),
            *self._settings(order, asks=schema is None),
            *((continued,) if continued else ()),
            "-",
        )
        home = {sessions.HOME_VARIABLE: order.home} if order.home else {}
        return Plan(argv, home, {path: json.dumps(schema)} if schema else {}, continued)

    def _settings(self, order: Order, *, asks: bool) -> tuple[str, ...]:
        home = sessions.home_of(order)
        limits = (
            sandbox.settings(order, home, self._root, network=self._network)
            if self._sandboxed and order.isolation != "bubblewrap"  # a better one is around it
            else sandbox.none()
        )
        # The program runs hooks it was never asked about only if told to run all of them; those of
        # the user's that nobody has approved must not be among them.
        has_others = self._user_config or disk.exists(os.path.join(home, "hooks.json"))
        hooks = {} if has_others else configuration.hooks(order, asks=asks)
        return (
            *configuration.arguments(
                {**configuration.common(order), **limits, **hooks, **self._config}
            ),
            *(("--dangerously-bypass-hook-trust",) if hooks else ()),
        )

    def progress(self, stdout_path: str) -> str:
        return self._progress.of(stdout_path)

    def judge(self, evidence: Evidence) -> Verdict:
        return judging.judge(evidence, stream.read(evidence.stdout_path))
