"""Metrics: what roles leave, what is made of it, and who may ask how."""

from __future__ import annotations

import json
import socket
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Move, Problem
from kingdom.bus.tally import BOUNDS
from kingdom.chamberlain.duty import Office
from kingdom.chamberlain.metrics import Metrics, address_file, port_of
from kingdom.chamberlain.metrics_found import Found
from kingdom.chamberlain.metrics_text import rendered
from kingdom.clock import SystemClock
from kingdom.errors import TryLater
from kingdom.runtime.measures import PAUSE, Measures
from kingdom.runtime.processes import Seat, roles_file
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json
from tests.support.kingdom import MovableClock, event
from tests.support.metrics import read_metrics
from tests.support.ports import reserved_port
from tests.support.waiting import eventually


@pytest.fixture
def served(office: Office) -> Iterator[Metrics]:
    """On a port that is free."""
    with reserved_port() as port:
        configure(office, port)
        made = Metrics(office)
        made.start()
        made.step()
        yield made
        made.stop()


def configure(office: Office, port: int) -> None:
    disk.make_directory(office.base.config)
    Path(office.base.config, "chamberlain.yaml").write_text(f"metrics: {{port: {port}}}\n")
    office.clock.advance(60)  # type: ignore[attr-defined]
    office.setting.config.refresh()


def address(base: BaseDir) -> str:
    return str(read_json(address_file(base))["address"])


def asked(base: BaseDir) -> dict[str, float]:
    with urllib.request.urlopen(address(base), timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return read_metrics(answer.read().decode())


def looked(base: BaseDir, clock: MovableClock, *roles: str) -> dict[str, float]:
    return read_metrics(rendered(Found(base, clock, roles).families()).decode())


def worked(bus: FileBus, clock: MovableClock) -> None:
    """Two events dispatched, in a second each; one dead, one put off, one waits."""
    bus.publish("events", *(event(str(number)) for number in range(5)))
    claims = bus.claim("events", "king", 4)
    clock.advance(1)
    bus.commit([Move(claim, "completed", "failed") for claim in claims[:2]])
    bus.bury(claims[2], Problem("broken", "It is broken."))
    bus.retry(claims[3], Problem("later", "Not now."))


def test_what_a_role_handled_is_told_with_its_result_and_time(
    base: BaseDir, bus: FileBus, clock: MovableClock
) -> None:
    worked(bus, clock)
    measures = Measures(base, "king", bus, clock)
    measures.start()
    measures.keep()
    clock.advance(9)
    found = looked(base, clock)
    assert found['kingdom_queue_processed_total{stream="events",result="failed"}'] == 2
    assert found['kingdom_queue_processed_total{stream="events",result="dead"}'] == 1
    assert found['kingdom_queue_processed_total{stream="events",result="retried"}'] == 1
    type_ = event().type
    labels = f'stream="events",type="{type_}"'
    assert found[f"kingdom_handler_duration_seconds_count{{{labels}}}"] == 4
    assert found[f"kingdom_handler_duration_seconds_sum{{{labels}}}"] == 4
    assert found[f'kingdom_handler_duration_seconds_bucket{{{labels},le="0.5"}}'] == 0
    assert found[f'kingdom_handler_duration_seconds_bucket{{{labels},le="1"}}'] == 4
    assert found[f'kingdom_handler_duration_seconds_bucket{{{labels},le="+Inf"}}'] == 4
    assert found['kingdom_queue_pending{stream="events"}'] == 2
    assert found['kingdom_queue_processing{stream="events"}'] == 0
    assert found['kingdom_queue_dead{stream="events"}'] == 1
    made = event().created_at.timestamp()
    expected = clock.now().timestamp() - made
    assert found['kingdom_queue_oldest_pending_seconds{stream="events"}'] == pytest.approx(expected)


def test_totals_go_on_in_the_next_life_and_add_up_over_roles(
    base: BaseDir, bus: FileBus, clock: MovableClock, open_bus: Any
) -> None:
    worked(bus, clock)
    for name in ("king", "gen-a"):
        measures = Measures(base, name, bus, clock)
        measures.keep(at_once=True)
    bus.close()
    next_life = open_bus()
    measures = Measures(base, "king", next_life, clock)
    measures.start()
    measures.start()
    next_life.publish("events", event("new"))
    claim = next_life.claim("events", "king", ids=["evt-test-new"])[0]
    next_life.commit([Move(claim, "completed", "failed")])
    measures.keep()
    found = looked(base, clock)
    assert found['kingdom_queue_processed_total{stream="events",result="failed"}'] == 2 + 1 + 2


def test_it_is_written_at_most_every_few_seconds_and_only_if_it_changed(
    base: BaseDir, bus: FileBus, clock: MovableClock
) -> None:
    path = Path(base.metrics, "king.json")
    measures = Measures(base, "king", bus, clock)
    measures.keep()
    assert not path.exists()
    worked(bus, clock)
    measures.keep()
    assert not path.exists()
    clock.advance(PAUSE)
    measures.keep()
    before = path.stat().st_ino
    clock.advance(PAUSE)
    measures.keep()
    assert path.stat().st_ino == before
    claim = bus.claim("events", "king", ids=["evt-test-4"])[0]
    clock.advance(PAUSE)
    bus.commit([Move(claim, "completed", "failed")])
    measures.keep()
    assert path.stat().st_ino != before


def test_a_stream_with_countless_types_stays_small(
    base: BaseDir, bus: FileBus, clock: MovableClock
) -> None:
    bus.publish("events", *(event(str(n), type=f"test.number{n}") for n in range(100)))
    claims = bus.claim("events", "king", 100)
    bus.commit([Move(claim, "completed") for claim in claims])
    assert len(bus.tally.durations) == 65
    assert sum(sum(one.counts) for one in bus.tally.durations.values()) == 100


DAMAGED = [
    "{",
    "[]",
    '{"streams": {}}',
    '{"streams": {"events": {"pending": "x"}}, "processed": [], "durations": []}',
    '{"streams": {}, "processed": [["a"]], "durations": []}',
    '{"streams": {}, "processed": [], "durations": [{"counts": [1]}]}',
    '{"streams": [], "processed": [], "durations": []}',
    '{"streams": {}, "processed": [["a", "b", 1e999]], "durations": []}',
]


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_file_costs_what_it_told(
    base: BaseDir, bus: FileBus, clock: MovableClock, damage: str
) -> None:
    disk.make_directory(base.metrics)
    Path(base.metrics, "king.json").write_text(damage)
    Path(base.resources_file).write_text(damage)
    assert looked(base, clock)['kingdom_queue_pending{stream="events"}'] == 0
    measures = Measures(base, "king", bus, clock)
    measures.start()
    worked(bus, clock)
    measures.keep()
    found = looked(base, clock)
    assert found['kingdom_queue_processed_total{stream="events",result="dead"}'] == 1


def test_waiting_messages_are_counted_and_grow_old_while_their_consumer_is_down(
    base: BaseDir, bus: FileBus
) -> None:
    bus.publish("messages")
    clock = SystemClock()
    place = Path(base.path("queue", "messages", "pending", "msg-1.json"))
    place.write_text("{}")
    found = looked(base, clock)  # type: ignore[arg-type]
    assert found['kingdom_queue_pending{stream="messages"}'] == 1
    age = 'kingdom_queue_oldest_pending_seconds{stream="messages"}'
    eventually(lambda: looked(base, clock)[age] > 0.01, "it grows old")  # type: ignore[arg-type]


def test_roles_machine_and_budget(base: BaseDir, clock: MovableClock) -> None:
    lock = Seat(base, "king").take()
    try:
        Seat(base, "king").beat()
        write_json(
            base.resources_file,
            {
                "health": "orange",
                "cpu_percent": 81.5,
                "soldiers": {"active": 2, "max": 3},
                "tokens": {"status": "warning", "daily_cost_usd": "12.50"},
                "updated_at": "2026-02-07T09:59:30Z",
            },
        )
        found = looked(base, clock, "king", "envoy")
    finally:
        lock.close()
    assert found['kingdom_role_up{role="king"}'] == 1
    assert found['kingdom_role_up{role="envoy"}'] == 0
    assert 'kingdom_role_heartbeat_age_seconds{role="king"}' in found
    assert 'kingdom_role_heartbeat_age_seconds{role="envoy"}' not in found
    assert found["kingdom_health"] == 2
    assert found["kingdom_cpu_percent"] == 81.5
    assert found["kingdom_soldiers_active"] == 2
    assert found["kingdom_cost_today_usd"] == 12.5
    assert found["kingdom_budget_status"] == 1
    assert found["kingdom_resources_age_seconds"] == 30
    assert "kingdom_load" not in found


# The endpoint


def test_it_serves_where_its_file_says(base: BaseDir, served: Metrics) -> None:
    assert asked(base)['kingdom_queue_pending{stream="events"}'] == 0
    served.stop()
    assert not Path(address_file(base)).exists()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", served._port or port_of(base)), 5)


def test_another_port_or_none_needs_no_restart(
    base: BaseDir, served: Metrics, office: Office
) -> None:
    before = address(base)
    with reserved_port() as port:
        configure(office, port)
        served.step()
        assert address(base) == f"http://127.0.0.1:{port}/metrics" != before
        asked(base)
    configure(office, 0)
    served.step()
    assert not Path(address_file(base)).exists()


def test_a_port_that_is_taken_is_said_with_what_to_do(base: BaseDir, office: Office) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        configure(office, other.getsockname()[1])
        metrics = Metrics(office)
        with pytest.raises(TryLater, match=r"metrics\.port"):
            metrics.step()
    metrics.step()
    asked(base)
    metrics.stop()


def test_kingdoms_have_ports_of_their_own(scratch: Path) -> None:
    ports = {port_of(BaseDir(scratch / str(number))) for number in range(20)}
    assert len(ports) > 15
    assert all(20000 <= port < 32000 for port in ports)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /metrics HTTP/1.1\r\nHost: localhost:1\r\n\r\n", b"200"),
        (b"HEAD /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"200"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"404"),
        (b"POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"405"),
        (b"GET /metrics HTTP/1.1\r\nHost: evil.example:80\r\n\r\n", b"403"),
        (b"\x00\xff\r\n\r\n", b"404"),
        (b"x" * 9000, b""),
    ],
)
def test_what_is_asked_is_answered_or_hung_up_on(
    base: BaseDir, served: Metrics, request_: bytes, status: bytes
) -> None:
    answer = _say(base, request_)
    assert answer[9:12] == status
    assert b"\r\n\r\n" in answer or not status
    asked(base)


def _say(base: BaseDir, request: bytes) -> bytes:
    port = int(address(base).rpartition(":")[2].partition("/")[0])
    heard = b""
    with socket.create_connection(("127.0.0.1", port), 30) as way:
        way.sendall(request)
        try:
            while data := way.recv(65536):
                heard += data
        except ConnectionResetError:
            return heard
    return heard


def test_bounds_ascend() -> None:
    assert sorted(BOUNDS) == list(BOUNDS)
    assert json.loads(json.dumps(BOUNDS)) == list(BOUNDS)


@pytest.mark.parametrize("has_warden", [True, False])
def test_roles_that_were_left_out_on_purpose_are_not_listed(
    served: Metrics, base: BaseDir, has_warden: bool
) -> None:
    lock = Seat(base, "warden").take()
    write_json(roles_file(base), {"only": ["king", "chamberlain"], "roles": {}})
    if not has_warden:  # it was killed, and left its file
        lock.release()
    with closing(lock):
        found = {name.partition('role="')[2].partition('"')[0] for name in asked(base)} - {""}
    assert ("sentinel" in found) is not has_warden
    assert {"king", "chamberlain"} <= found
