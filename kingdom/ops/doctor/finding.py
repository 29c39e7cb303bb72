"""What one look found: fine, worth a thought, or in the way; in a sentence, with what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from kingdom.settings.loading import Settings
from kingdom.store.paths import BaseDir

OK, WARNING, PROBLEM = "ok", "warning", "problem"


@dataclass(frozen=True)
class Finding:
    state: str
    what: str
    sentence: str
    remedy: str = ""
    # What `--fix` does about it, where nothing can go wrong with that; answers what was done.
    fix: Callable[[], str] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Patient:
    """The machine as the kingdom would find it. Without a kingdom, with the default settings."""

    environment: Mapping[str, str]  # what roles see: this shell's, or that of units of systemd
    base: BaseDir | None
    settings: Settings
    shell: Mapping[str, str] = field(default_factory=dict)

    @property
    def root(self) -> str:
        return self.base.root if self.base else ""


def fine(what: str, sentence: str) -> Finding:
    return Finding(OK, what, sentence)


def milder(finding: Finding) -> Finding:
    """For what is not in use: nothing about it is in the way."""
    if finding.state == OK:
        return finding
    return replace(finding, state=OK, sentence=f"{finding.sentence} It is not in use.", remedy="")
