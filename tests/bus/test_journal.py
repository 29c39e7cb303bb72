"""The journal alone: what is found again after any damage to its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from kingdom.bus.files.journal import Entry, Journal

HERE, OTHER_BOOT = "host/boot.1/100/1", "host/boot.2/200/1"
ONE = [Entry("events", "evt-1", "pending", 1, "하나\n{}".encode())]
TWO = [Entry("tasks", "task-1", "completed", 7, b"two"), Entry("results", "task-1", "p", 1, b"")]


def written(path: Path, *records: list[Entry]) -> Journal:
    journal = Journal(str(path / "0.journal"), HERE, sync=True, capacity=4096)
    journal.own(HERE)
    for record in records:
        journal.append(record)
        journal.mark_applied()
    return journal


def found(path: Path, process: str = OTHER_BOOT) -> list[list[Entry]]:
    journal = Journal(str(path / "0.journal"), process, sync=True, capacity=4096)
    entries = list(journal.unapplied())
    journal.close()
    return entries


def test_after_another_boot_every_record_is_looked_at_again(scratch: Path) -> None:
    written(scratch, ONE, TWO).close()
    assert found(scratch) == [ONE, TWO]


def test_within_a_boot_only_what_was_not_applied(scratch: Path) -> None:
    journal = written(scratch, ONE)
    journal.append(TWO)
    journal.close()
    assert found(scratch, HERE) == [TWO]


def test_a_voided_journal_has_nothing_to_say(scratch: Path) -> None:
    journal = written(scratch, ONE, TWO)
    journal.void()
    assert found(scratch) == []
    journal.append(TWO)
    assert found(scratch) == [TWO]
    journal.close()


def test_whoever_voids_it_from_outside_is_noticed_by_the_owner(scratch: Path) -> None:
    owner = written(scratch, ONE, TWO)
    other = Journal(str(scratch / "0.journal"), HERE, sync=True, capacity=4096)
    other.void()
    owner.refresh()
    owner.append(ONE)
    assert found(scratch) == [ONE]
    owner.close()
    other.close()


@pytest.mark.parametrize("cut", range(1, 60, 3))
def test_a_record_torn_anywhere_ends_the_journal(scratch: Path, cut: int) -> None:
    journal = written(scratch, ONE)
    end = _end_of_records(scratch)
    journal.append(TWO)
    journal.close()
    whole = (scratch / "0.journal").read_bytes()
    assert end + cut < _end_of_records(scratch) - 1
    (scratch / "0.journal").write_bytes(whole[: end + cut].ljust(len(whole), b"\0"))
    assert found(scratch) == [ONE]


def _end_of_records(scratch: Path) -> int:
    return len((scratch / "0.journal").read_bytes().rstrip(b"\0"))


def test_a_flipped_bit_in_a_record_is_noticed(scratch: Path) -> None:
    written(scratch, ONE, TWO).close()
    data = bytearray((scratch / "0.journal").read_bytes())
    data[data.index(b"two")] ^= 1
    (scratch / "0.journal").write_bytes(bytes(data))
    assert found(scratch) == [ONE]


def test_a_header_torn_while_voiding_makes_the_journal_empty(scratch: Path) -> None:
    written(scratch, ONE, TWO).close()
    data = (scratch / "0.journal").read_bytes()
    (scratch / "0.journal").write_bytes(bytes(512) + data[512:])
    assert found(scratch) == []


def test_a_record_larger_than_the_journal_fits_when_it_is_alone(scratch: Path) -> None:
    large = [Entry("events", "evt-large", "pending", 1, b"x" * 10_000)]
    journal = written(scratch)
    assert journal.has_room(large)
    journal.append(large)
    journal.close()
    assert found(scratch) == [large]


def test_a_full_journal_says_so(scratch: Path) -> None:
    journal = written(scratch, ONE)
    assert journal.has_room(ONE)
    assert not journal.has_room([Entry("events", "evt-2", "pending", 1, b"x" * 4000)])
    journal.close()
