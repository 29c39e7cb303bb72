"""One thing that cannot be handled never stops a role: it is set aside, and the rest goes on.

Not for what may pass by itself, such as a full disk or a service that is down: the role's loop
waits for that. Anything else the same thing would meet again at every start.

Writes `state/{role}/faults.json`, which `kingdom status` and `kingdom doctor` read: what failed in
this life of the role. The next start removes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING

from kingdom.bus.port import Problem
from kingdom.clock import Clock, isoformat
from kingdom.errors import LeaseLost
from kingdom.runtime.processes import faults_file
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import write_json

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

CODE = "handling_failed"
_KEPT = 20

SetAside = Callable[[Problem], object]


class Faults:
    def __init__(
        self,
        base: BaseDir,
        role: str,
        clock: Clock,
        log: FilteringBoundLogger,
        may_pass: Callable[[Exception], bool],
    ) -> None:
        self._path = faults_file(base, role)
        self._may_pass = may_pass
        self._lock = Lock()  # a role may have threads
        self._role = role
        self._clock = clock
        self._log = log
        self._logged: set[tuple[str, str]] = set()
        self._failed: dict[str, dict[str, str]] = {}

    def begin(self) -> None:
        """What a former life met is over."""
        with suppress(OSError):
            disk.remove(self._path)

    @contextmanager
    def contained(self, what: str, set_aside: SetAside = lambda problem: None) -> Iterator[None]:
        """What goes wrong in here is logged, and what it went wrong with is set aside."""
        try:
            yield
        except Exception as error:
            if self._may_pass(error):
                raise
            self._note(what, error)
            self._set_aside(what, set_aside, Problem(CODE, self._sentence(error)))

    def _sentence(self, error: Exception) -> str:
        name = type(error).__name__
        return f"The program failed while it handled this ({name}); see: kingdom logs {self._role}"

    def _note(self, what: str, error: Exception) -> None:
        """With a traceback, once for each way in which this fails."""
        with self._lock:
            if (what, kind_of(error)) not in self._logged:
                self._logged.add((what, kind_of(error)))
                self._log.error("handling.failed", what=what, exc_info=error)
            self._failed.pop(what, None)
            now = isoformat(self._clock.now())
            self._failed[what] = {"error": type(error).__name__, "at": now}
            for old in list(self._failed)[:-_KEPT]:
                del self._failed[old]
            self._write()

    def _set_aside(self, what: str, set_aside: SetAside, problem: Problem) -> None:
        try:
            set_aside(problem)
        except LeaseLost:
            pass  # it failed after it had moved on: what was to be done is done
        except Exception as error:
            if self._may_pass(error):
                raise
            self._note(f"setting aside {what}", error)

    def _write(self) -> None:
        with suppress(OSError):  # the log has it
            write_json(self._path, {"failed": self._failed}, sync=False)


def kind_of(error: Exception) -> str:
    """What it is and where it was raised."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    line = f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place else ""
    return f"{type(error).__name__} {line}"
