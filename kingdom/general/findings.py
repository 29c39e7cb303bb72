"""What an attempt left behind, read: its result, its engine's view, what its checks and the program
said last. The same whenever it is asked."""

from __future__ import annotations

from dataclasses import replace

from kingdom.engines.choice import Engines
from kingdom.engines.port import Evidence, Verdict
from kingdom.engines.said import write_said
from kingdom.engines.wrapper import ANNOUNCED
from kingdom.errors import ConfigurationError
from kingdom.general import verdicts
from kingdom.general.attempt import Attempt
from kingdom.general.spec import Ended, Spec
from kingdom.general.verdicts import Judgement, Raw
from kingdom.runtime.role import PASSING, Setting
from kingdom.runtime.secrets import Masker
from kingdom.store import disk

_LAST_WORDS = 200
_OUTPUT_OF_CHECKS = 8 * 1024
_LINES_OF_CHECK, _SIGNS_OF_CHECK = 20, 2000


class Findings:
    def __init__(self, setting: Setting, engines: Engines) -> None:
        self._setting = setting
        self._engines = engines
        self._masker = Masker(setting.environment)

    def judged(self, attempt: Attempt, ended: Ended) -> tuple[Judgement, Raw]:
        spec = attempt.spec
        assert spec is not None
        if ended.reason in ("ended", "lingered"):
            _write_said(spec)
        raw = verdicts.read_raw(spec.result_path, spec.task_id)
        judgement = verdicts.judge(
            spec,
            ended,
            raw,
            self._engine_s_view(spec, ended, raw.result is not None),
            condemned=attempt.condemned,
            why=attempt.condemned_why,
            last_words=self._last_words(spec),
        )
        return judgement, raw

    def _engine_s_view(self, spec: Spec, ended: Ended, has_result: bool) -> Verdict:
        try:
            engine = self._engines.named(spec.engine, self._setting.config.current.settings)
        except ConfigurationError:
            return Verdict()
        evidence = Evidence(
            spec.task_id,
            ended.code,
            ended.signal,
            spec.stdout,
            spec.stderr,
            has_result,
            session_id=spec.session_id,
            earlier=spec.earlier,
        )
        return engine.judge(evidence)

    def what_failed(self, attempt: Attempt, judgement: Judgement) -> str:
        """For whoever tries it next: the failure, and what a check had to say."""
        failure, spec = judgement.failure, attempt.spec
        assert failure is not None
        told = f"{failure.sentence} {judgement.error}".strip()
        if failure.code != "verification_failed" or spec is None:
            return told
        output = disk.tail(spec.stderr, _OUTPUT_OF_CHECKS).decode("utf-8", "replace")
        return f"{told}\n{self._masker.text(output)}"

    def with_output_of_check(self, attempt: Attempt, judgement: Judgement) -> Judgement:
        """The end of what the check that failed had to say, for people."""
        failure, spec = judgement.failure, attempt.spec
        if failure is None or failure.code != "verification_failed" or spec is None:
            return judgement
        output = disk.tail(spec.stderr, _OUTPUT_OF_CHECKS).decode("utf-8", "replace")
        said = self._masker.text(f"\n{output}".rpartition(f"\n{ANNOUNCED}")[2])
        shown = "\n".join(said.strip().split("\n")[1:][-_LINES_OF_CHECK:])[-_SIGNS_OF_CHECK:]
        return replace(judgement, error=f"{judgement.error}\n{shown}".strip())

    def _last_words(self, spec: Spec) -> str:
        lines = disk.tail(spec.stderr, 4096).decode("utf-8", "replace").split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        shown = self._masker.text(said)
        return shown if len(shown) <= _LAST_WORDS else f"{shown[:_LAST_WORDS]}…"


def _write_said(spec: Spec) -> None:
    """A full disk is waited for; a soldier that spoiled its own place has no result."""
    try:
        write_said(spec.engine, spec.task_id, spec.stdout, spec.result_path)
    except OSError as error:
        if error.errno in PASSING:
            raise
