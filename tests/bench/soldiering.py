"""What the kingdom adds around the real Claude Code program, one at a time and eight at once; and
what of it is the sandbox, around a soldier and in a build that one runs.

Both sides run the same program with the same home, prompt and scripted model; what is configured as
the program is a shell script that notes when it began and ended, in the directory it works in. The
kingdom's side is a whole one, with its roles, tmux and the console: it ends with the closing
message shown there. A second one has its sandboxes switched off.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import time

from kingdom.clock import SystemClock
from kingdom.models.event import Event
from kingdom.ops.init import init
from kingdom.store.paths import BaseDir
from tests.bench.figures import Figure, at_most, compared
from tests.bench.place import own_place
from tests.bench.report import Rate
from tests.support.cli import undisturbed
from tests.support.programs import new_claude
from tests.support.scripted_model import ScriptedModel, say, use
from tests.support.waiting import eventually, let_pass

AT_ONCE = 8
_LOOK, _PATIENCE = 0.005, 300.0
_BARE = ("-p", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash")
_MESSAGES_OF_A_TASK = 2  # one opens its thread, one closes it
_REPORT = '{"task_id": "%s", "status": "success", "summary": "Done."}'
_PROMPT = "Report at once.\n"
_BUILD = "Build first.\n"
_SANDBOX = 0.060  # seconds that it may cost
# Many files, processes and bytes, with programs that every machine has.
_BUILDS = """seq 600 | while read -r n; do seq "$n" 2000 > "part$n"; done; \
git init -q . && git add . && git -c user.name=b -c user.email=b@example.com commit -qm build; \
for n in 1 2 3; do tar cf - part* | gzip -6 | sha256sum; done > sums; git gc -q"""
_MANIFEST = {
    "description": "Is measured.",
    "timeout_seconds": 300,
    "max_soldiers": AT_ONCE,
    "permissions": {"tools": ["Bash"]},
}
_TIMED = """#!/bin/sh
date +%s.%N > "$$.began"
"{program}" "$@"
code=$?
date +%s.%N > "$$.ended"
exit $code
"""


@dataclass(frozen=True)
class _Program:
    path: Path
    home: Path
    environment: dict[str, str]


def soldiering(directory: str, rounds: int, crowds: int) -> tuple[list[Figure], list[Rate]]:
    with (
        _program(Path(own_place(directory))) as program,
        _kingdom(directory, program) as base,
        _kingdom(directory, program, isolation="off") as unprotected,
    ):
        numbers = count(1)
        around, alone, whole, of_sandbox, inside, outside = [], [], [], [], [], []
        for number in range(rounds + 1):
            bare, ours = _bare(program, 1), _ours(base, numbers, 1)
            without = _ours(unprotected, numbers, 1)
            builds = [_build(one, numbers) for one in (base, unprotected)]
            if number > 0:  # the first fills caches, of the program's own, too
                alone.append(bare.program)
                around.append(ours.whole - ours.program)
                whole.append(ours.whole)
                of_sandbox.append(ours.whole - without.whole)
                inside.append(builds[0])
                outside.append(builds[1])
        many, floor = [], []
        for _ in range(crowds):
            floor.append(_bare(program, AT_ONCE).whole)
            many.append(_ours(base, numbers, AT_ONCE).whole)
    allowed = [_SANDBOX] * len(of_sandbox)
    return [
        compared("around a soldier, to the bare program", around, alone, at_most(0.35)),
        compared("event to message, to the bare program", whole, alone),
        compared(f"{AT_ONCE} soldiers, to {AT_ONCE} bare programs", many, floor, at_most(1.25)),
        compared("the sandbox of a soldier, to 60 ms", of_sandbox, allowed, at_most(1.0)),
        compared("a build in a sandbox, to one without", inside, outside, at_most(1.05)),
    ], [
        Rate("soldier: the bare program", statistics.median(alone) * 1e3, "ms"),
        Rate("soldier: what the kingdom adds around it", statistics.median(around) * 1e3, "ms"),
        Rate("soldier: what of that is its sandbox", statistics.median(of_sandbox) * 1e3, "ms"),
        Rate("soldier: a build in its sandbox", statistics.median(inside) * 1e3, "ms"),
        Rate(f"soldiers: {AT_ONCE} at once", statistics.median(many) * 1e3, "ms"),
        Rate(f"soldiers: {AT_ONCE} bare programs", statistics.median(floor) * 1e3, "ms"),
    ]


@dataclass(frozen=True)
class _Took:
    whole: float  # seconds from the first request for it to all that is wanted
    program: float  # from the first program's begin to the last one's end


@contextmanager
def _program(place: Path) -> Iterator[_Program]:
    home = place / "home"
    home.mkdir(parents=True)
    report = f"""printf '{_REPORT}' "$KINGDOM_TASK_ID" > "$KINGDOM_RESULT_PATH\""""
    build = f"date +%s.%N > 1.built; {_BUILDS}; date +%s.%N > 2.built; {report}"
    script = place / "claude"
    script.write_text(_TIMED.format(program=new_claude()))
    script.chmod(0o755)
    with ScriptedModel(use("Bash", command=report, description="report"), say("Bye.")) as model:
        model.says(use("Bash", command=build, description="build"), say("Bye."), to=_BUILD.strip())
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), **model.environment}
        yield _Program(script, home, environment)


@contextmanager
def _kingdom(directory: str, program: _Program, isolation: str = "auto") -> Iterator[BaseDir]:
    base = BaseDir(own_place(directory))
    init(base)
    local = Path(base.path("config", "local"))
    runtime = {
        "engine": "claude",
        "claude": {"command": str(program.path)},
        "isolation": isolation,
    }
    generals = {"gen-bench": ("bench.work", _PROMPT), "gen-build": ("bench.build", _BUILD)}
    written = {
        "system.yaml": {"runtime": runtime},
        "king.yaml": {"concurrency": {"max_soldiers": AT_ONCE}},
        **{
            f"generals/{name}/manifest.yaml": {
                **_MANIFEST,
                "name": name,
                "subscribes": [subscribed],
                "sandbox": {"read": [os.path.dirname(new_claude())]},
            }
            for name, (subscribed, _) in generals.items()
        },
    }
    for name, content in written.items():
        (local / name).parent.mkdir(parents=True, exist_ok=True)
        (local / name).write_text(json.dumps(content))
    for name, (_, prompt) in generals.items():
        (local / "generals" / name / "prompt.md").write_text(prompt)
    undisturbed(base.root)
    _type(base, program, "start")
    try:
        yield base
    finally:
        _type(base, program, "stop", "--soldiers")


def _type(base: BaseDir, program: _Program, *words: str) -> None:
    command = [sys.executable, "-m", "kingdom", "--base-dir", base.root, *words]
    root = Path(__file__).parents[2]
    subprocess.run(
        command, check=True, stdout=subprocess.DEVNULL, timeout=_PATIENCE, cwd=root,
        env={**os.environ, **program.environment},
    )  # fmt: skip


def _ours(base: BaseDir, numbers: Iterator[int], soldiers: int) -> _Took:
    whole = _sent(base, "bench.work", numbers, soldiers)
    return _Took(whole, _noted(Path(base.workspace, "gen-bench"), soldiers))


def _build(base: BaseDir, numbers: Iterator[int]) -> float:
    """Seconds that it took, as noted by itself."""
    _sent(base, "bench.build", numbers, 1)
    began, ended = sorted(map(_moment, Path(base.workspace, "gen-build").glob("*/*.built")))
    _forget(Path(base.workspace, "gen-build").glob("*/*.built"))
    return ended - began


def _sent(base: BaseDir, kind: str, numbers: Iterator[int], soldiers: int) -> float:
    """Seconds until all is said."""
    sent = base.path("queue", "messages", "sent")
    wanted = len(os.listdir(sent)) + soldiers * _MESSAGES_OF_A_TASK
    events = [_event(kind, next(numbers)) for _ in range(soldiers)]
    for event in events:
        Path(base.path(f"{event.id}.part")).write_bytes(event.to_json())
    began = time()
    for event in events:
        arrival = base.path("queue", "events", "pending", f"{event.id}.json")
        os.rename(base.path(f"{event.id}.part"), arrival)
    eventually(
        lambda: len(os.listdir(sent)) >= wanted,
        "all is said",
        _PATIENCE,
        meanwhile=lambda _: let_pass(_LOOK),
    )
    whole = time() - began
    for event in events:
        ended = Path(base.path("queue", "events", "completed", f"{event.id}.json"))
        assert json.loads(ended.read_text())["status"] == "completed"
    return whole


def _event(kind: str, number: int) -> Event:
    return Event(
        id=f"evt-bench-{number}",
        type=kind,
        source="bench",
        created_at=SystemClock().now(),
        trust="member",
    )


def _bare(program: _Program, programs: int) -> _Took:
    place = program.home.parent / "bare"
    place.mkdir(exist_ok=True)
    command = [str(program.path), *_BARE]
    began = time()
    started = [
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            cwd=place,
            env={
                **program.environment,
                "KINGDOM_TASK_ID": f"task-{number}",
                "KINGDOM_RESULT_PATH": str(place / f"{number}.json"),
            },
        )
        for number in range(programs)
    ]
    for one in started:
        assert one.stdin is not None
        one.stdin.write(_PROMPT.encode())
        one.stdin.close()
    codes = [one.wait(_PATIENCE) for one in started]
    whole = time() - began
    assert not any(codes), codes
    for number in range(programs):
        report = place / f"{number}.json"
        assert json.loads(report.read_text())["status"] == "success"
        report.unlink()
    return _Took(whole, _noted(place.parent, programs))


def _noted(place: Path, programs: int) -> float:
    """What the script wrote of these, each where it worked; forgotten afterwards."""
    began, ended = (list(place.glob(f"*/*.{word}")) for word in ("began", "ended"))
    assert len(began) == len(ended) == programs, (began, ended)
    took = max(map(_moment, ended)) - min(map(_moment, began))
    _forget((*began, *ended))
    return took


def _forget(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink()


def _moment(path: Path) -> float:
    return float(path.read_text())
