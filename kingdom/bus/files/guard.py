"""What stands around every verb of the bus: one at a time, and the disk's errors in our words."""

from __future__ import annotations

import errno
from threading import RLock
from types import TracebackType

from kingdom.errors import TryLater

_OF_THE_WHOLE_DISK = (errno.EXDEV, errno.EROFS)


def refused(error: OSError) -> TryLater:
    what = error.strerror or str(error)
    where = f" ({error.filename})" if error.filename else ""
    mend = "do what kingdom doctor says" if error.errno in _OF_THE_WHOLE_DISK else "mend that"
    return TryLater(
        f"The disk refused: {what}{where}.",
        remedy=f"Nothing was changed; {mend} and try again.",
        code="disk_refused",
    )


class Guard:
    """One verb at a time, whatever the thread; and the disk's own errors said in our words."""

    def __init__(self) -> None:
        self.lock = RLock()

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.lock.release()
        if isinstance(error, OSError):
            raise refused(error) from error
