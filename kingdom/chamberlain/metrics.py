"""Metrics for Prometheus: the duty that opens the endpoint, and says where it is.

Writes `state/chamberlain/metrics.json` while it serves. A crash leaves that file behind; it is
believed only while the chamberlain runs.
"""

from __future__ import annotations

from kingdom.chamberlain.duty import Office
from kingdom.chamberlain.metrics_endpoint import HOST, Endpoint
from kingdom.chamberlain.metrics_found import Found
from kingdom.chamberlain.metrics_text import rendered
from kingdom.errors import TryLater
from kingdom.runtime.processes import WARDEN, Seat, roles_file
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json
from kingdom.topology import START_ORDER, role_of

_LOOK_SECONDS = 30.0  # whether the port is still the one that is wanted
_FIRST, _PORTS = 20000, 12000  # below what the kernel gives to those who do not care


def port_of(base: BaseDir) -> int:
    """Where it is by default: kingdoms on one host do not meet."""
    return _FIRST + int(base.name_on_host.rpartition("-")[2], 16) % _PORTS


def address_file(base: BaseDir) -> str:
    return base.path("state", "chamberlain", "metrics.json")


class Metrics:
    name = "metrics"

    def __init__(self, office: Office) -> None:
        self._office = office
        self._endpoint: Endpoint | None = None
        self._port = 0

    def start(self) -> None:
        """Nothing is left of a former life but a file, which the first step replaces."""

    def step(self) -> float:
        wanted = self._wanted()
        if wanted != self._port or (self._endpoint and not self._endpoint.is_alive()):
            self._close()
            self._port = wanted if not wanted else self._open(wanted)
        return _LOOK_SECONDS

    def stop(self) -> None:
        self._close()

    def _wanted(self) -> int:
        configured = self._office.config.settings.chamberlain.metrics.port
        return port_of(self._office.base) if configured is None else configured

    def _open(self, port: int) -> int:
        try:
            self._endpoint = Endpoint(port, self._render, self._office.clock)
        except OSError as error:
            raise TryLater(
                f"Metrics cannot be served at {HOST}:{port}: {error.strerror}.",
                remedy="Name another metrics.port in config/local/chamberlain.yaml, or 0 for none.",
            ) from error
        write_json(address_file(self._office.base), {"address": self._endpoint.address}, sync=False)
        self._office.log.info("metrics.opened", address=self._endpoint.address)
        return port

    def _close(self) -> None:
        if self._endpoint is not None:
            self._endpoint.close()
            self._endpoint = None
        self._port = 0
        disk.remove(address_file(self._office.base))

    def _render(self) -> bytes:
        """In the endpoint's thread."""
        generals = sorted(self._office.config.generals)
        roles = [
            name for role in START_ORDER for name in (generals if role == "general" else [role])
        ]
        wanted = _wanted(self._office.base, roles)
        return rendered(Found(self._office.base, self._office.clock, wanted).families())


def _wanted(base: BaseDir, roles: list[str]) -> list[str]:
    """Without those that a warden was told to leave out."""
    told = read_json(roles_file(base), {}) if Seat(base, WARDEN).is_taken() else {}
    only = told.get("only") if isinstance(told, dict) else None
    if not isinstance(only, list) or not only:
        return roles
    return [name for name in roles if name in only or role_of(name) in only]
