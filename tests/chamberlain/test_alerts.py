"""People are told of a condition once when it begins, and once more when it is over."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from kingdom.chamberlain.alerts import Alerts, TellLate
from kingdom.chamberlain.duty import Office
from kingdom.errors import TryLater
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json
from tests.support.calls import observed
from tests.support.full_disk import Refusing
from tests.support.household import office_in, said
from tests.support.kingdom import MovableClock


def test_once_at_the_beginning_and_once_at_the_end(office: Office, base: BaseDir) -> None:
    alerts = Alerts(office)
    alerts.start()
    assert alerts.begin("disk", "The disk is full.")
    assert not alerts.begin("disk", "The disk is full.")
    assert alerts.open_ones() == ["disk"]
    assert alerts.end("disk", "The disk has room again.")
    assert not alerts.end("disk", "The disk has room again.")
    assert said(base) == ["The disk is full.", "The disk has room again."]
    assert alerts.begin("disk", "The disk is full again.")
    assert len(said(base)) == 3


def test_the_next_chamberlain_knows_what_was_told(base: BaseDir, clock: MovableClock) -> None:
    with office_in(base, clock) as office:
        first = Alerts(office)
        first.start()
        first.begin("king", "The king hangs.")
    with office_in(base, clock) as office:
        second = Alerts(office)
        second.start()
        assert not second.begin("king", "The king hangs.")
        assert second.end("king", "The king is back.")
    assert said(base) == ["The king hangs.", "The king is back."]


def test_duties_that_alert_do_not_forget_each_others(base: BaseDir, clock: MovableClock) -> None:
    with office_in(base, clock) as office:
        one, other = Alerts(office), Alerts(office)
        one.start()
        one.begin("king", "The king hangs.")
        other.start()
        other.begin("disk", "The disk is full.")
    with office_in(base, clock) as office:
        third = Alerts(office)
        third.start()
        assert sorted(third.open_ones()) == ["disk", "king"]


@pytest.mark.parametrize("damage", ["", "[]", '{"king": 3}', '{"king": {"is_open": true}}', "{"])
def test_a_damaged_file_costs_what_it_told(base: BaseDir, office: Office, damage: str) -> None:
    path = Path(office.path("alerts.json"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(damage)
    alerts = Alerts(office)
    alerts.start()
    assert alerts.open_ones() == []
    assert alerts.begin("king", "The king hangs.")


def test_what_was_written_and_not_published_is_published_at_the_next_start(
    base: BaseDir, clock: MovableClock
) -> None:
    with office_in(base, clock) as office:
        alerts = Alerts(office)
        alerts.start()
        publish, office.bus.publish = office.bus.publish, None  # type: ignore[method-assign,assignment]
        with pytest.raises(TypeError):
            alerts.begin("king", "The king hangs.")
        office.bus.publish = publish  # type: ignore[method-assign]
    assert said(base) == []
    for _ in range(2):
        with office_in(base, clock) as office:
            Alerts(office).start()
    assert said(base) == ["The king hangs."]


def refused(point: int, act: Callable[[], object]) -> bool:
    """Whether the disk was full at that write of it."""
    refusing = Refusing(point)
    with observed(refusing), suppress(OSError, TryLater):
        act()
    return refusing.left <= 0


def written(office: Office) -> set[str]:
    return set(read_json(office.path("alerts.json"), {}))


def test_a_disk_that_is_full_at_any_point_costs_no_alert(office: Office, base: BaseDir) -> None:
    alerts, late = Alerts(office), TellLate(office)
    alerts.start()
    expected: list[str] = []
    point = 1
    while True:
        begins, ends = f"{point} hangs.", f"{point} is back."
        was_full = refused(point, lambda text=begins: alerts.begin("king", text))
        assert set(alerts.open_ones()) <= written(office), "it is written before it is known"
        alerts.begin("king", begins)
        late.step()
        was_full |= refused(point, lambda text=ends: alerts.end("king", text))
        alerts.end("king", ends)
        late.step()
        expected += [begins, ends]
        assert said(base) == expected, f"the disk was full at write {point}"
        assert alerts.open_ones() == []
        if not was_full:
            break
        point += 1
    assert point > 5, "there are several writes to each"


def test_what_could_not_be_published_is_published_later_in_the_same_life(
    office: Office, base: BaseDir
) -> None:
    """In its order, though the condition is over before the bus takes anything."""
    alerts, late = Alerts(office), TellLate(office)
    late.start()
    publish = office.bus.publish

    def busy(*_: object) -> None:
        raise TryLater("The bus is busy.")

    office.bus.publish = busy  # type: ignore[method-assign,assignment]
    assert alerts.begin("king", "The king hangs.")
    late.step()
    assert not alerts.end("king", "The king is back.")
    assert alerts.is_open("king")
    office.bus.publish = publish  # type: ignore[method-assign]
    for _ in range(3):
        late.step()
    assert said(base) == ["The king hangs."]
    assert alerts.end("king", "The king is back.")
    assert said(base) == ["The king hangs.", "The king is back."]
