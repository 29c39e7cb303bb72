"""Every invariant that fsck checks, broken once: found, named, repaired, nothing lost."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.bus.files.intake import LARGEST
from kingdom.bus.files.places import Places
from kingdom.bus.files.sequence import Sequence
from kingdom.bus.lease import boot
from kingdom.bus.port import Move, Problem
from kingdom.clock import SystemClock, isoformat
from kingdom.ops import listing
from kingdom.ops.fsck.examine import CHECKS, examine
from kingdom.ops.fsck.finding import Finding, Workshop
from kingdom.ops.fsck.repair import repair
from kingdom.ops.fsck.survey import Survey
from kingdom.ops.init import init
from kingdom.store.paths import BaseDir
from tests.support.calls import in_child, observed
from tests.support.cli import claim_and_die
from tests.support.kingdom import counts, drop, event, load, message, task

OpenBus = Callable[..., FileBus]
NEEDS_A_NORMAL_USER = "right" + "s"  # root may do everything: see test_cli_fsck


@pytest.fixture(autouse=True)
def kingdom_here(base: BaseDir) -> None:
    init(base)


def found(base: BaseDir) -> list[tuple[str, str]]:
    return [(finding.check, finding.path) for finding in examine(base)]


def fix(base: BaseDir) -> list[str]:
    """Repair everything; what is left are notes. Answers what was done."""
    done = [one.sentence for one in repair(base, lambda: FileBus(base, durable=False))]
    left = [finding for finding in examine(base) if not finding.note]
    assert left == []
    return done


def the_one(base: BaseDir) -> Finding:
    (finding,) = examine(base)
    return finding


def aged(path: str | Path, seconds: float = 10) -> str:
    facts = os.stat(path, follow_symlinks=False)
    times = (facts.st_atime - seconds, facts.st_mtime - seconds)
    os.utime(path, times, follow_symlinks=False)
    return str(path)


def reason(base: BaseDir, name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(
        Path(base.path("queue/events/dead", f"{name}.reason.json")).read_text()
    )
    return loaded


def valid(id_: str, **fields: Any) -> str:
    made = {"id": id_, "type": "a.b", "source": "cli", "created_at": "2026-02-07T10:00:00Z"}
    return json.dumps({"status": "pending", **made, **fields})


def dead_pid() -> int:
    child = subprocess.Popen(["true"])
    child.wait()
    return child.pid


def test_a_kingdom_in_use_is_clean(base: BaseDir, bus: FileBus) -> None:
    bus.publish("events", event("1"), event("2"), event("3"))
    bus.publish("tasks", task(int(bus.next_id("task").rpartition("-")[2])))
    one, two = bus.claim("events", "king", 2)
    bus.commit([Move(one, "dispatched")])
    bus.bury(two, Problem("x", "y"))
    bus.claim("events", "king")
    assert examine(base) == []
    assert fix(base) == []


def test_every_check_finds_something_in_these_tests() -> None:
    source = Path(__file__).read_text()
    missing = [name for name in CHECKS if f'"{name}"' not in source]
    assert missing == [NEEDS_A_NORMAL_USER]


def test_limits_and_places_agree_with_those_of_the_bus(base: BaseDir, bus: FileBus) -> None:
    assert listing.LARGEST == LARGEST
    own = {place.directory for place in listing.places(base)}
    assert own <= set(bus._places.own_directories())


# The ground


@pytest.mark.parametrize("name", ["queue/tasks/dead", "queue/inbox", "state/bus/tmp", "logs"])
def test_a_missing_directory(base: BaseDir, name: str) -> None:
    for path in sorted(Path(base.path(name)).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    os.rmdir(base.path(name))
    assert found(base) == [("directories", name)]
    assert fix(base) == ["Made."]


def test_a_file_where_a_directory_should_be(base: BaseDir) -> None:
    os.rmdir(base.path("queue/tasks/dead"))
    Path(base.path("queue/tasks/dead")).write_text("mine")
    findings = examine(base)
    assert (findings[0].check, findings[0].path) == ("directories", "queue/tasks/dead")
    assert findings[0].fix is None
    path = base.path("queue/tasks/dead")
    assert findings[0].repair == f"mv {path} {path}.aside && kingdom fsck --fix"


def test_a_missing_format_file(base: BaseDir) -> None:
    os.unlink(base.format_file)
    assert found(base) == [("format", "state/format")]
    assert fix(base) == ["Written."]
    assert Path(base.format_file).read_text() == "1\n"


@pytest.mark.parametrize(
    ("content", "repair_"),
    [
        ("2\n", "upgrade kingdom on this machine"),
        ("one\n", "If this program wrote them, put 1 into it; else restore a backup."),
        ("0\n", "kingdom migrate"),
    ],
)
def test_a_format_this_program_does_not_know(base: BaseDir, content: str, repair_: str) -> None:
    Path(base.format_file).write_text(content)
    drop(base, "events/pending", "evt-1.json", "{")
    finding = the_one(base)
    assert (finding.check, finding.repair, finding.fix) == ("format", repair_, None)
    assert list(repair(base, lambda: FileBus(base))) == [], (
        "files of another version stay untouched"
    )


def test_queues_on_two_file_systems(base: BaseDir, tmp_path: Path) -> None:
    if os.stat(tmp_path).st_dev == os.stat(base.root).st_dev:
        pytest.skip("there is one file system only")
    os.rmdir(base.path("queue/events/dead"))
    os.symlink(tmp_path, base.path("queue/events/dead"))
    assert (the_one(base).check, the_one(base).fix) == ("file_system", None)


# Files


@pytest.mark.parametrize(
    ("name", "content", "code", "sentence"),
    [
        ("no id.json", valid("evt-1"), "bad_id", "The name is not an id."),
        ("evt-1.json", "{", "not_json", "It is not JSON: "),
        ("evt-1.json", "", "not_json", "It is empty."),
        (
            "evt-1.json",
            valid("evt-2"),
            "id_mismatch",
            "The id inside is evt-2, the name says evt-1.",
        ),
        ("evt-1.json", valid("evt-1", priority="urgent"), "invalid_field", "Field `priority`: "),
    ],
)
@pytest.mark.parametrize("place", ["pending", "completed"])
def test_a_file_that_is_no_message(
    base: BaseDir, place: str, name: str, content: str, code: str, sentence: str
) -> None:
    path = drop(base, f"events/{place}", name, content)
    aged(path)
    finding = the_one(base)
    assert (finding.check, finding.path) == ("messages", f"queue/events/{place}/{name}")
    assert finding.sentence.startswith(sentence)
    assert fix(base) == [f"Moved to {base.path('queue/events/dead', name)}."]
    assert Path(base.path("queue/events/dead", name)).read_text() == content
    assert reason(base, name)["code"] == code


def test_what_is_no_file_at_all(base: BaseDir) -> None:
    directory = base.path("queue/events/completed/")
    os.symlink("/etc/passwd", f"{directory}evt-1.json")
    os.mkfifo(f"{directory}evt-2.json")
    os.mkdir(f"{directory}evt-3.json")
    Path(f"{directory}evt-3.json", "inside").write_text("kept")
    for number in (1, 2, 3):
        aged(f"{directory}evt-{number}.json")
    assert [check for check, _ in found(base)] == ["messages"] * 3
    fix(base)
    assert os.readlink(base.path("queue/events/dead/evt-1.json")) == "/etc/passwd"
    assert Path(base.path("queue/events/dead/evt-3.json/inside")).read_text() == "kept"


def test_a_file_someone_may_still_be_copying_is_found_and_left(base: BaseDir) -> None:
    drop(base, "events/completed", "evt-1.json", "{")
    (done,) = repair(base, lambda: FileBus(base, durable=False))
    assert done.sentence.startswith("Not repaired: It changed a moment ago")
    assert found(base) == [("messages", "queue/events/completed/evt-1.json")]


def test_an_unexplained_file_in_dead(base: BaseDir) -> None:
    path = drop(base, "events/dead", "evt-1.json", "{")
    assert found(base) == [("messages", "queue/events/dead/evt-1.json")]
    fix(base)
    assert reason(base, "evt-1.json")["code"] == "not_json"
    assert path.read_text() == "{"


def test_what_was_handed_in_without_a_status_is_fine(base: BaseDir) -> None:
    fields = json.loads(valid("evt-1"))
    fields.pop("status")
    drop(base, "events/pending", "evt-1.json", json.dumps(fields))
    assert found(base) == []


@pytest.mark.parametrize(
    ("place", "inside", "after"),
    [
        ("completed", "pending", "completed"),
        ("completed", None, "completed"),
        ("dispatched", "completed", "dispatched"),
        ("pending", "failed", "pending"),
    ],
)
def test_a_status_its_directory_does_not_know(
    base: BaseDir, place: str, inside: str | None, after: str
) -> None:
    delivery = {"attempt_count": 2, "next_retry_at": "2026-02-07T11:00:00Z", "revision": 3}
    fields = json.loads(valid("evt-1", delivery=delivery, custom=1))
    fields.pop("status") if inside is None else fields.update(status=inside)
    drop(base, f"events/{place}", "evt-1.json", json.dumps(fields))
    assert found(base) == [("status", f"queue/events/{place}/evt-1.json")]
    assert fix(base) == ["Written anew."]
    written = load(base, f"events/{place}", "evt-1")
    assert (written["status"], written["custom"]) == (after, 1)
    assert written["delivery"]["attempt_count"] == 2
    assert written["delivery"]["crash_count"] == 0
    assert written["delivery"]["next_retry_at"] == "2026-02-07T11:00:00.000Z"


def test_a_failed_event_in_completed_is_right(base: BaseDir) -> None:
    drop(base, "events/completed", "evt-1.json", valid("evt-1", status="failed"))
    assert found(base) == []


def test_an_interrupted_move_leaves_the_step_further(base: BaseDir) -> None:
    before = valid("evt-1", status="dispatched", delivery={"revision": 4})
    drop(base, "events/dispatched", "evt-1.json", before)
    after = valid("evt-1", status="completed", delivery={"revision": 5})
    drop(base, "events/completed", "evt-1.json", after)
    assert found(base) == [("copies", "queue/events/dispatched/evt-1.json")]
    fix(base)
    assert counts(base) == {"events/completed": 1}


def test_a_copy_made_by_hand_is_kept_in_dead(base: BaseDir) -> None:
    for place in ("dispatched", "completed"):
        drop(base, f"events/{place}", "evt-1.json", valid("evt-1", status=place))
    assert the_one(base).sentence == "evt-1 lies in events/dispatched and events/completed."
    fix(base)
    assert counts(base) == {"events/completed": 1, "events/dead": 1}
    assert reason(base, "evt-1.json")["code"] == "duplicate_id"


def test_an_event_that_two_tasks_work_on(base: BaseDir, bus: FileBus) -> None:
    bus.publish("tasks", task(1), task(2), task(3, event_id="evt-test-3"))
    bus.publish("tasks", *(task(n, event_id="schedule-daily") for n in (4, 5)))
    (finding,) = [one for one in examine(base) if one.check != "sequences"]
    assert (finding.check, finding.path) == ("twice", "queue/tasks/pending/task-20260207-002.json")
    assert "task-20260207-001 does the work of the same event already" in finding.sentence
    assert finding.repair == "kingdom cancel task-20260207-002"
    (claim,) = bus.claim("tasks", "gen-pr", ids=["task-20260207-002"])
    bus.commit([Move(claim, "completed", "cancelled")])
    assert [one for one in examine(base) if one.check == "twice"] == []


def test_a_reason_without_its_file(base: BaseDir) -> None:
    Path(base.path("queue/events/dead/evt-1.json.reason.json")).write_text("{}")
    finding = the_one(base)
    assert (finding.check, finding.path) == ("reasons", "queue/events/dead/evt-1.json.reason.json")
    assert fix(base) == ["Removed."]


def test_a_reason_whose_file_came_meanwhile(base: BaseDir) -> None:
    """The reason is written first, so a look may fall between the two."""
    beside = Path(base.path("queue/events/dead/evt-1.json.reason.json"))
    beside.write_text("{}")
    finding = the_one(base)
    drop(base, "events/dead", "evt-1.json", "{")
    assert finding.fix is not None
    assert finding.fix(Workshop(base, lambda: FileBus(base))) == "Its file is there by now."
    assert beside.exists()


def test_temporaries_of_interrupted_writers(base: BaseDir) -> None:
    pending = Path(base.path("queue/events/pending"))
    gone, alive, nameless, young = (
        pending / f".tmp-{dead_pid()}-evt-1.json",
        pending / f".tmp-{os.getpid()}-evt-2.json",
        pending / ".tmp-evt-3.json",
        pending / ".tmp-evt-4.json",
    )
    for path in (gone, alive, nameless, young):
        path.write_text("{")
    aged(nameless, 7200)
    assert {path for _, path in found(base)} == {
        f"queue/events/pending/{gone.name}",
        f"queue/events/pending/{nameless.name}",
    }
    assert {check for check, _ in found(base)} == {"temporaries"}
    fix(base)
    assert sorted(os.listdir(pending)) == sorted([alive.name, young.name])


def test_files_that_do_not_belong(base: BaseDir) -> None:
    aged(drop(base, "tasks/pending", "notes.txt", "mine"))
    assert found(base) == [("strangers", "queue/tasks/pending/notes.txt")]
    fix(base)
    assert Path(base.path("queue/tasks/dead/notes.txt.json")).read_text() == "mine"


def test_directories_that_nobody_reads(base: BaseDir) -> None:
    os.mkdir(base.path("queue/events/failed"))
    Path(base.path("queue/evt-1.json")).write_text("{}")
    findings = {finding.path: finding for finding in examine(base)}
    assert set(findings) == {"queue/events/failed", "queue/evt-1.json"}
    assert all(one.check == "strangers" and one.fix is None for one in findings.values())
    assert findings["queue/events/failed"].repair.startswith(
        f"mv {base.path('queue/events/failed')} "
    )


# What a crash leaves


def die_while_showing(base: BaseDir) -> None:
    """Killed after the record of the commit was written, before the queue showed it."""

    def kill(name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        if name in ("renameat2", "link", "rename"):
            os.kill(os.getpid(), signal.SIGKILL)
        return call()

    def work() -> None:
        bus = FileBus(base, durable=False)
        with observed(kill):
            bus.publish("events", event("1"), event("2"))

    assert in_child(work) == -signal.SIGKILL


def test_a_commit_that_the_queue_does_not_show(base: BaseDir) -> None:
    die_while_showing(base)
    assert counts(base) == {}
    shown = [path for check, path in found(base) if check == "commits"]
    assert shown == ["queue/events/pending/evt-test-1.json", "queue/events/pending/evt-test-2.json"]
    assert counts(base) == {}, "looking repairs nothing"
    fix(base)
    assert counts(base) == {"events/pending": 2}


def test_temporaries_in_state(base: BaseDir) -> None:
    die_while_showing(base)
    left = [path for check, path in found(base) if check == "leftovers"]
    assert [os.path.dirname(path) for path in left] == ["state/bus/tmp"] * 2
    other = Path(base.path("state/king", f".tmp-{dead_pid()}-schedule-sent.json"))
    other.write_text("{")
    assert ("leftovers", f"state/king/{other.name}") in found(base)
    fix(base)
    assert not other.exists()
    assert os.listdir(base.path("state/bus/tmp")) == []


def test_a_message_that_is_only_in_the_attic(base: BaseDir, open_bus: OpenBus) -> None:
    open_bus().publish("tasks", task(1))
    claim_and_die(base, "tasks", "gen-pr", "task-20260207-001")
    Path(base.sequence_file("task")).write_text("20260207:001\n")
    assert [finding for finding in examine(base) if not finding.note] == []
    Path(base.path("queue/tasks/pending/task-20260207-001.json")).write_bytes(bytes(300))
    assert "attic" not in [check for check, _ in found(base)], "power was not lost"
    after_a_reboot(Path(base.bus, "journal", "1.journal"))
    assert "attic" in [check for check, _ in found(base)]
    fix(base)
    assert load(base, "tasks/pending", "task-20260207-001")["target_general"] == "gen-pr"


def after_a_reboot(journal: Path) -> None:
    """Its owner belonged to an earlier boot of the machine."""
    with journal.open("r+b") as file:
        header = file.read(512)
        here = boot().encode()
        assert here in header
        file.seek(0)
        file.write(header.replace(here, here[::-1]))


def test_a_lost_lease_where_nobody_claims(base: BaseDir, bus: FileBus) -> None:
    bus.publish("events", event("1"))
    bus.commit([Move(bus.claim("events", "king")[0], "completed", "failed")])
    claim_and_die(base, "events", "operator", "evt-test-1")
    assert found(base) == [("leases", "queue/events/completed/evt-test-1.json")]
    assert fix(base) == ["Written anew."]
    written = load(base, "events/completed", "evt-test-1")
    assert written["status"] == "failed"
    assert "locked_by" not in written["delivery"]
    assert written["delivery"]["crash_count"] == 0


def test_a_lost_lease_that_the_next_claim_takes_over_is_only_a_note(
    base: BaseDir, bus: FileBus
) -> None:
    bus.publish("events", event("1"))
    claim_and_die(base, "events", "king", "evt-test-1")
    assert the_one(base).note
    assert fix(base) == []
    assert load(base, "events/pending", "evt-test-1")["delivery"]["locked_by"].startswith("king@")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "It is missing."),
        ("", "It is damaged."),
        ("2026-02-07:4\n", "It is damaged."),
        ("20260207:006\n", "It is behind msg-20260207-007, which would come twice."),
        ("20250101:900\n", "It is behind msg-20260207-007, which would come twice."),
    ],
)
def test_a_sequence_that_would_give_an_id_twice(
    base: BaseDir, open_bus: OpenBus, content: str | None, sentence: str
) -> None:
    bus = open_bus()
    bus.publish("messages", message(7))
    if content is not None:
        Path(base.sequence_file("msg")).write_text(content)
    finding = the_one(base)
    assert (finding.check, finding.path) == ("sequences", "state/king/msg-seq")
    assert finding.sentence == sentence
    fix(base)
    assert bus.next_id("msg") == "msg-20260207-008"


def test_a_sequence_ahead_of_its_ids_is_right(base: BaseDir, open_bus: OpenBus) -> None:
    open_bus().publish("messages", message(7))
    Path(base.sequence_file("msg")).write_text("20260208:001\n")
    Path(base.sequence_file("task")).write_text("20260208:001\n")
    assert found(base) == []
    with closing(Sequence(Places(base), "msg", sync=False)) as sequence:
        sequence.mend()
    assert Path(base.sequence_file("msg")).read_text() == "20260208:001\n"
    Path(base.sequence_file("task")).write_text("?")
    fix(base)
    assert not Path(base.sequence_file("task")).exists(), "no task was ever made"


def test_what_an_interrupted_backup_left(base: BaseDir) -> None:
    left = Path(base.bus, f".tmp-{dead_pid()}-1-backup")
    (left / "queue").mkdir(parents=True)
    (left / "queue" / "x").write_text("1")
    in_use = Path(base.bus, f".tmp-{os.getpid()}-{own_start()}-backup")
    in_use.mkdir()
    assert found(base) == [("leftovers", f"state/bus/{left.name}")]
    fix(base)
    assert not left.exists()
    assert in_use.exists()


def own_start() -> str:
    return Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]


# While everything runs


def test_what_is_gone_at_the_second_look_is_not_reported(
    base: BaseDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.rmdir(base.path("queue/tasks/dead"))

    def seen_once(survey: Survey) -> Iterator[Finding]:
        yield Finding("reasons", "x", "On its way.", "none")
        monkeypatch.setitem(CHECKS, "reasons", lambda survey: iter(()))

    monkeypatch.setitem(CHECKS, "reasons", seen_once)
    assert found(base) == [("directories", "queue/tasks/dead")]


class Busy:
    """A worker that moves messages about until it is told to stop."""

    def __init__(self, base: BaseDir) -> None:
        stop, self._stop = os.pipe()
        self._told, told = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                os.write(told, str(self._work(base, stop)).encode())
            except BaseException:  # noqa: BLE001 - the other side learns of it from the silence
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(stop)
        os.close(told)

    @staticmethod
    def _work(base: BaseDir, stop: int) -> int:
        """Answers how many messages it made."""
        bus = FileBus(base, durable=False)
        number = 0
        while not select.select([stop], [], [], 0)[0]:
            bus.publish("events", event(f"{number}"), event(f"{number + 1}"))
            one, two = bus.claim("events", "king", 2)
            bus.commit([Move(one, "dispatched")])
            bus.bury(two, Problem("x", "y"))
            (one,) = bus.claim("events", "king", ids=[one.id])
            bus.commit([Move(one, "completed")])
            number += 2
        return number

    def is_at_work(self) -> bool:
        """It says something only when it is over."""
        return not select.select([self._told], [], [], 0)[0]

    def end(self) -> int:
        os.write(self._stop, b".")
        made = int(os.read(self._told, 20) or b"-1")
        os.waitpid(self._pid, 0)
        os.close(self._stop)
        os.close(self._told)
        return made


def test_nothing_is_found_while_messages_move(base: BaseDir) -> None:
    worker = Busy(base)
    while sum(counts(base).values()) < 200:
        assert worker.is_at_work()
        assert [finding for finding in examine(base) if not finding.note] == []
    assert worker.end() == sum(counts(base).values())


def test_only_what_is_broken_is_repaired_while_messages_move(base: BaseDir) -> None:
    worker = Busy(base)
    for number in range(8):
        drop(base, "events/dispatched", f"broken-{number}.json", valid(f"broken-{number}"))
        done = [one.sentence for one in repair(base, lambda: FileBus(base, durable=False))]
        assert done == ["Written anew."]
    made = worker.end()
    assert counts(base)["events/dispatched"] == 8
    assert made + 8 == sum(counts(base).values())


def test_what_is_in_the_place_of_a_file(base: BaseDir) -> None:
    os.makedirs(base.path("state/king/lock"))
    assert found(base) == [("files", "state/king/lock")]
    assert fix(base) == ["It is lock.aside now."]
    assert [(one.path, one.note) for one in examine(base)] == [("state/king/lock.aside", True)]


# Moments that have yet to come

AHEAD = "2236-01-01T00:00:00.000Z"
FUTURE = {
    "queue/events/pending/evt-1.json": {"delivery": {"next_retry_at": AHEAD}},
    "queue/events/dispatched/evt-1.json": None,  # nobody waits for what it says
    "queue/events/pending/evt-2.json": {"created_at": AHEAD},
    "state/king/schedule-sent.json": {"nightly": {"cron": "0 3 * * *", "slot": AHEAD}},
    "state/king/reminded.json": {"task-1": {"at": AHEAD}},
    "state/engines/claude.json": {"until": AHEAD, "since": "2026-02-07T10:00:00Z"},
    "state/sentinel/github-state.json": {"cursor": AHEAD},
    "state/gen-pr/sweep.json": {"looked_at": AHEAD},
    "state/chamberlain/cleaned.json": {"day": "2236-01-01"},
    "state/clock-confirmed.json": {"at": AHEAD},
}


@pytest.mark.parametrize("path", FUTURE)
def test_a_moment_that_has_yet_to_come_is_noted(base: BaseDir, path: str) -> None:
    content, name = FUTURE[path], Path(base.path(path))
    name.parent.mkdir(parents=True, exist_ok=True)
    if path.startswith("queue"):
        status = {"status": name.parent.name}
        name.write_text(valid(name.stem, **(content or {"created_at": AHEAD}), **status))
    else:
        name.write_text(json.dumps(content))
    if content is None:
        assert found(base) == []
        return
    finding = the_one(base)
    assert (finding.check, finding.path, finding.note) == ("times", path, True)
    assert "which has yet to come" in finding.sentence
    assert fix(base) == []


def test_moments_that_people_and_services_name_are_no_findings(base: BaseDir) -> None:
    soon = isoformat(SystemClock().now() + timedelta(days=6))
    tomorrow = f"{SystemClock().now() + timedelta(days=1):%Y-%m-%d}"
    delivery = {"next_retry_at": soon, "last_error_code": "deferred"}
    drop(base, "events/pending", "evt-1.json", valid("evt-1", delivery=delivery))
    for path, content in {
        "state/engines/claude.json": {"until": soon},
        "state/envoy/awaiting-responses.json": {"task-1": {"expires_at": AHEAD}},
        "state/chamberlain/events-day.json": {"day": tomorrow},
        "state/king/damaged.json": ["2236-99-01", {"at": "2236-99-01T00:00:00Z"}],
    }.items():
        Path(base.path(path)).parent.mkdir(parents=True, exist_ok=True)
        Path(base.path(path)).write_text(json.dumps(content))
    assert found(base) == []
