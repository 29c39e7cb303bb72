"""What was typed, where, and with which environment: all that a command knows of the outside."""

from __future__ import annotations

from collections.abc import Mapping

from kingdom.store.paths import BaseDir, find_base_dir


class Call:
    def __init__(
        self,
        arguments: list[str],
        base_dir: str | None,
        environment: Mapping[str, str],
        working_dir: str,
    ) -> None:
        self.arguments = arguments
        self.base_dir = base_dir
        self.environment = environment
        self.working_dir = working_dir

    def base(self) -> BaseDir:
        """The kingdom that is meant, if its files are of the version this program knows."""
        from kingdom.store.formats import check_format

        base = self.base_of_any_format()
        check_format(base)
        return base

    def base_of_any_format(self) -> BaseDir:
        """From here on this process has to do with a kingdom, and perhaps with its tokens."""
        from kingdom.store.libc import keep_memory_private

        keep_memory_private()
        return find_base_dir(self.base_dir, self.environment, self.working_dir)
