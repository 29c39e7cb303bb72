"""The power goes after each call; what was not synced may be gone. Promises hold all the same."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import pytest

from kingdom.store.paths import BaseDir
from tests.support.calls import in_child, observed
from tests.support.kingdom import MovableClock, files
from tests.support.powerloss import Aftermath, Recorder, as_of_another_boot, lay_out, ways
from tests.support.promises import check_directories, drain
from tests.support.scenarios import SCENARIOS, Scenario, small_bus

SEED = 20260207


def record(scenario: Scenario, base: BaseDir) -> Recorder:
    """The calls of a process that is gone afterwards; the empty bus before it is safe on disk."""
    small_bus(base).close()
    recording = Path(base.root).with_suffix(".recording")

    def work() -> None:
        clock = MovableClock()
        recorder = Recorder(base.root)
        with observed(recorder):
            bus = small_bus(base, clock)
            prepared = scenario.prepare(bus)
            recorder.mark("prepared")
            scenario.act(bus, prepared, clock)
            recorder.mark("returned")
        recording.write_bytes(pickle.dumps(recorder))

    assert in_child(work) == 0
    loaded = pickle.loads(recording.read_bytes())
    assert isinstance(loaded, Recorder)
    return loaded


def recover_and_judge(scenario: Scenario, base: BaseDir, said: set[str]) -> None:
    clock = MovableClock()
    bus = small_bus(base, clock)
    bus.recover()
    bus.stats()
    clock.advance(3)  # names that outran their content are given the time anyone's files get
    bus.stats()
    if "prepared" in said:
        scenario.judge(base, "returned" in said)
    check_directories(base)
    assert "tasks/dead" not in files(base) or scenario.name == "bury"
    drain(bus)
    check_directories(base)
    bus.close()


# Of other processes' calls and of files that outsiders drop the recorder knows nothing.
RECORDED = [one for one in SCENARIOS if one.name not in ("recover", "take_over", "condemn")]
each = pytest.mark.parametrize("scenario", RECORDED, ids=lambda one: one.name)


@each
def test_power_goes_after_every_call(scenario: Scenario, scratch: Path) -> None:
    lose_power_everywhere(scenario, scratch, chances=3)


@pytest.mark.long
@each
def test_power_goes_after_every_call_in_many_ways(scenario: Scenario, scratch: Path) -> None:
    lose_power_everywhere(scenario, scratch, chances=60)


def lose_power_everywhere(scenario: Scenario, scratch: Path, chances: int) -> None:
    recorder = record(scenario, BaseDir(scratch / "before"))
    directories = recorder.relative_directories()
    assert recorder.count > 10
    seen: set[int] = set()
    for calls in range(recorder.count + 1):
        aftermath = Aftermath(recorder, calls)
        for name, kept in ways(SEED + calls, chances):
            tree, said = aftermath.tree(kept), aftermath.returned()
            if (look := hash((frozenset(tree.items()), frozenset(said)))) in seen:
                continue
            seen.add(look)
            base = BaseDir(scratch / "after")
            lay_out(tree, directories, scratch / "after")
            as_of_another_boot(base)
            print(f"power lost after call {calls} of {scenario.name}: {name}")
            recover_and_judge(scenario, base, said)
            shutil.rmtree(base.root)
