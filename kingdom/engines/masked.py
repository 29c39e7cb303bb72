"""What a program printed, without the secrets of an environment.

Hidden before anything is cut: half a secret would not be known any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from kingdom.engines.json_lines import Entry

if TYPE_CHECKING:
    from kingdom.runtime.secrets import Masker


class Masked:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def __call__(self, entry: Entry) -> Entry:
        found: Entry = self._masker.value(entry)
        return found

    @cached_property
    def _masker(self) -> Masker:
        from kingdom.runtime.secrets import Masker  # `status` makes engines, and masks nothing

        return Masker(self._environment)
