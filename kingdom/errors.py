"""Every failure a person can meet: a stable code, one sentence, and what to do about it.

Three kinds decide a message's fate: `TryLater` goes back to pending, `NeverWorks` is buried, and
anything that is not a `KingdomError` is a bug, reported with its traceback in the log.
"""

from __future__ import annotations

from datetime import datetime

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_USAGE = 2


class KingdomError(Exception):
    """Something went wrong that a person can act on."""

    code = "failed"
    exit_code = EXIT_FAILED

    def __init__(self, sentence: str, *, remedy: str = "", code: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.remedy = remedy
        if code:
            self.code = code

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}".strip()


class TryLater(KingdomError):
    """It may work another time: network, overload, a full disk.

    `not_before`: whoever cannot be asked now, whatever it is about, may be asked again then; with
    `only_this`, other things may be asked meanwhile.
    """

    code = "try_later"
    not_before: datetime | None = None
    only_this = False


class NeverWorks(KingdomError):
    """Trying again cannot help: bad input, missing permission, policy."""

    code = "never_works"


class ConfigurationError(NeverWorks):
    """A setting is wrong, or there is no kingdom where one was expected."""

    code = "configuration"
    exit_code = EXIT_USAGE


class UsageError(NeverWorks):
    """The command was typed wrongly."""

    code = "usage"
    exit_code = EXIT_USAGE


class InvalidFile(NeverWorks):
    """A file in queue/ or state/ is not what its place says it should be."""

    code = "invalid_file"


class LeaseLost(TryLater):
    """Someone else holds this message now, so what was done with it must not be committed."""

    code = "lease_lost"


class NotFound(NeverWorks):
    """No message of that id is known."""

    code = "not_found"
