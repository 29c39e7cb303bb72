"""The configuration: one file in `config/`, one module here, one model in it.

Defaults live in the models and nowhere else. A class's docstring and its fields' descriptions
become the comments of the shipped files.
"""

from __future__ import annotations

from kingdom.settings.chamberlain import ChamberlainSettings
from kingdom.settings.envoy import EnvoySettings
from kingdom.settings.king import KingSettings
from kingdom.settings.section import Section
from kingdom.settings.sentinel import SentinelSettings
from kingdom.settings.system import SystemSettings

FILES: dict[str, type[Section]] = {
    "system": SystemSettings,
    "king": KingSettings,
    "sentinel": SentinelSettings,
    "envoy": EnvoySettings,
    "chamberlain": ChamberlainSettings,
}
