"""The bus and settings for what a person commands, also while a file in `config/` is wrong.

A running kingdom goes by the last good configuration then, and people must be able to stop what
runs. What is wrong is said beside it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kingdom.cli.call import Call
from kingdom.cli.failure import say
from kingdom.errors import ConfigurationError
from kingdom.store.paths import BaseDir

if TYPE_CHECKING:
    from kingdom.bus.files.bus import FileBus
    from kingdom.settings.loading import Settings

_NAMES_A_BUS = re.compile(rb"(?:^|[{,])\s*[\"']?bus[\"']?\s*:", re.MULTILINE)


def open_for(call: Call, base: BaseDir) -> FileBus:
    """Whoever asked for it closes it."""
    from kingdom.bus.opening import open_bus
    from kingdom.settings.loading import load_settings

    try:
        settings = load_settings(base.config, call.environment)
    except ConfigurationError as fault:
        settings = _without_what_is_wrong(call, base, fault)
        say(f"{fault} It is sent all the same.")
    return open_bus(base, settings)


def settings_from(call: Call, base: BaseDir, *names: str) -> Settings:
    """Of the files that a command goes by; what is wrong with others is said and stops nobody."""
    from kingdom.settings.loading import load_settings, load_some

    found = load_some(names, base.config, call.environment)
    try:
        load_settings(base.config, call.environment)
    except ConfigurationError as fault:
        say(f"{fault} That is not needed here.")
    return found


def _without_what_is_wrong(call: Call, base: BaseDir, fault: ConfigurationError) -> Settings:
    """The fault itself, where messages may travel otherwise than in files."""
    from kingdom.settings.loading import Settings, load_file
    from kingdom.settings.system import SystemSettings

    try:
        system = load_file("system", base.config, call.environment)
    except ConfigurationError:
        if _may_name_a_bus(base):
            raise fault from None
        return Settings()
    assert isinstance(system, SystemSettings)
    return Settings(system=system)


def _may_name_a_bus(base: BaseDir) -> bool:
    from kingdom.settings.loading import read_if_there

    paths = (base.path("config", "system.yaml"), base.path("config", "local", "system.yaml"))
    return any(_NAMES_A_BUS.search(read_if_there(path) or b"") for path in paths)
