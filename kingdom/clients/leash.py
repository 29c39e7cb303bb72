"""Programs that do not outlive whoever started them, by whatever way that one ended.

A shell stands in between. It listens to a pipe whose other end only this process has; when that is
closed, it kills its whole process group: the program and all that the program started.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache

# A shell gives what it starts beside itself no input, hence the way round by 8. Nothing of ours may
# be held open by the listener or the shell: we wait for its end.
_SCRIPT = """\
exec 9< "$1" 8<&0 < /dev/null; shift
"$@" <&8 8<&- 9<&- & program=$!
exec 8<&-
{ read -r _ <&9; kill -9 0; } > /dev/null 2>&1 & listener=$!
wait $program; code=$?
kill -9 $listener
exit $code
"""


def leashed(argv: Sequence[str]) -> list[str]:
    """What to start instead, in a session of its own, with `descriptor` passed on."""
    return ["/bin/sh", "-c", _SCRIPT, "leash", f"/proc/self/fd/{descriptor()}", *argv]


def descriptor() -> int:
    return _pipe(os.getpid())[0]


@cache
def _pipe(_of: int) -> tuple[int, int]:
    """One for each process: a fork does not keep its parent's programs alive by its own."""
    return os.pipe2(os.O_CLOEXEC)
