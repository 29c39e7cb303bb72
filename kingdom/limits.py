"""Limits that a process meets on this machine: open files, processes and threads, memory, the size
of a file. Which one it was, how high it is, and how to raise it.
"""

from __future__ import annotations

import errno
import os
import resource
from typing import TYPE_CHECKING

from kingdom.errors import KingdomError, TryLater

if TYPE_CHECKING:
    from threading import Thread

LEAST_FILES = 64  # a role has some 30 open, and more for each soldier and each connection
_USUAL_FILES = 1024  # beyond it `select` cannot look at them
_LEAST_MEMORY, _LEAST_FILE_SIZE = 512 * 1024**2, 16 * 1024**2
_NO_THREAD = "can't start new thread"
_NOT_MAPPED = ("failed to map segment", "cannot allocate memory")  # of a library
_MB = 1024**2


class LimitReached(TryLater):
    """It works again when the limit is raised, or others need less."""

    code = "few_processes"


def limit_in(error: BaseException | None, *, starting: bool = False) -> LimitReached | None:
    """The limit that this error comes of, if any. `starting`: it came of starting a process."""
    if isinstance(error, LimitReached):
        return error
    if isinstance(error, KingdomError):
        return limit_in(error.__cause__)
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.EMFILE, errno.ENFILE):
        return _files(number)
    if isinstance(error, MemoryError) or number == errno.ENOMEM or _is_not_mapped(error):
        return _memory()
    if number == errno.EFBIG:
        return _file_size()
    if (starting and number == errno.EAGAIN) or _is_without_thread(error):
        return no_more_processes()
    return None


def fork() -> int:
    """As `os.fork`; raises `LimitReached` when there may be no more processes."""
    try:
        return os.fork()
    except OSError as error:
        raise limit_in(error, starting=True) or error from error


def start_thread(thread: Thread) -> None:
    """Raises `LimitReached` when there may be no more threads."""
    try:
        thread.start()
    except RuntimeError as error:
        raise limit_in(error) or error from error


def raise_own() -> None:
    """As many open files as are usual, if this process may have them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _USUAL_FILES if hard == resource.RLIM_INFINITY else min(hard, _USUAL_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def lowest() -> LimitReached | None:
    """A limit that is too low for a role to live with."""
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY and files < LEAST_FILES:
        return _files(errno.EMFILE, files)
    memory, size = _soft(resource.RLIMIT_AS), _soft(resource.RLIMIT_FSIZE)
    if memory is not None and memory < _LEAST_MEMORY:
        return _memory()
    return _file_size() if size is not None and size < _LEAST_FILE_SIZE else None


def processes() -> tuple[int, int | None]:
    """How many this user has, threads too, and may have; none of it limits root."""
    most, me = _soft(resource.RLIMIT_NPROC), os.getuid()
    if most is None or me == 0:
        return 0, None
    return sum(_threads_of(name, me) for name in os.listdir("/proc") if name.isdecimal()), most


def _threads_of(pid: str, user: int) -> int:
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            facts = dict(line.split(":", 1) for line in file if ":" in line)
    except OSError:  # it has ended
        return 0
    return int(facts.get("Threads", 1)) if facts.get("Uid", "").split()[:1] == [str(user)] else 0


def _is_not_mapped(error: BaseException | None) -> bool:
    said = str(error).lower() if isinstance(error, ImportError) else ""
    return any(words in said for words in _NOT_MAPPED)


def _is_without_thread(error: BaseException | None) -> bool:
    return isinstance(error, RuntimeError) and _NO_THREAD in str(error)


def _files(number: int, limit: int | None = None) -> LimitReached:
    if number == errno.ENFILE:
        return LimitReached(
            "This machine can open no more files.",
            remedy="Close some, or raise the limit with: sysctl -w fs.file-max=1000000",
            code="few_files",
        )
    limit = _soft(resource.RLIMIT_NOFILE) if limit is None else limit
    return LimitReached(
        f"A process may have only {limit} files open here.",
        remedy="Raise the limit with: ulimit -n 4096 (under systemd: LimitNOFILE), and start it "
        "again.",
        code="few_files",
    )


def no_more_processes() -> LimitReached:
    limit = _soft(resource.RLIMIT_NPROC)
    whose = "this container or service" if limit is None else f"this user (limit: {limit})"
    how = "TasksMax or pids.max" if limit is None else "ulimit -u 4096 (under systemd: LimitNPROC)"
    return LimitReached(
        f"No more processes or threads can be started by {whose}.",
        remedy=f"End some, or raise the limit with: {how}",
        code="few_processes",
    )


def _memory() -> LimitReached:
    limit = _soft(resource.RLIMIT_AS)
    if limit is None:
        return LimitReached(
            "There is no more memory.",
            remedy="End other programs, or give the machine more.",
            code="little_memory",
        )
    return LimitReached(
        f"A process may use only {limit // _MB} MB of memory here.",
        remedy="Raise the limit with: ulimit -v unlimited",
        code="little_memory",
    )


def _file_size() -> LimitReached | None:
    limit = _soft(resource.RLIMIT_FSIZE)
    if limit is None:  # it was too large for something else
        return None
    return LimitReached(
        f"A file may have only {limit:,} bytes here.",
        remedy="Raise the limit with: ulimit -f unlimited",
        code="small_files",
    )


def _soft(kind: int) -> int | None:
    """What is in force; None if it is unlimited."""
    limit, _ = resource.getrlimit(kind)
    return None if limit == resource.RLIM_INFINITY else limit
