"""The program of the engine `rehearsal`: plays a soldier, and says so in whatever it reports.

It does a small real job (it summarises a diff, or describes what it was given), and plays the part
that `payload.rehearsal` names: `{"do": "fail", "seconds": 3}` works for three seconds and fails;
with `"until": "NAME"` it works until its workspace has a file of that name.
Only the standard library and the store, since it starts anew for every attempt.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable

SAYS_SO = "(rehearsal)"
TASK_FILE = ".kingdom-task.json"
HUGE = 50 * 1024 * 1024
_FOR_EVER = 10**9
_BEAT = 1.0
_LOOK = 0.05

Thing = dict[str, object]


def main() -> int:
    task, payload = _read_task()
    part = payload.get("rehearsal")
    if not isinstance(part, dict) or task["type"] == "resume":
        part = {}
    print(json.dumps({"soldier": "rehearsal", "task_id": task["task_id"], "part": part}))
    sys.stdout.flush()
    _work(part, str(task["heartbeat_path"]))
    PARTS.get(str(part.get("do", "")), _succeed)(task, payload)
    return 0


def _read_task() -> tuple[Thing, Thing]:
    with open(os.path.join(os.environ["KINGDOM_WORKSPACE"], TASK_FILE), encoding="utf-8") as file:
        task: Thing = json.load(file)
    payload = task["payload"]
    assert isinstance(payload, dict)
    return task, payload


def _work(part: Thing, heartbeat: str) -> None:
    """Takes its time, and shows signs of life meanwhile."""
    from kingdom.store import disk

    seconds = part.get("seconds")
    left = float(seconds) if isinstance(seconds, int | float) else 0.0
    while left > 0:
        disk.touch(heartbeat)
        time.sleep(min(left, _BEAT))
        left -= _BEAT
    awaited = os.path.join(os.environ["KINGDOM_WORKSPACE"], str(part.get("until", "")))
    while not os.path.exists(awaited):  # without a name it is the workspace, which is there
        disk.touch(heartbeat)
        time.sleep(_LOOK)


# The small real job


def _succeed(task: Thing, payload: Thing) -> None:
    if task["type"] != "resume":
        _report(task, "success", _look_at(str(task["type"]), payload))
        return
    original = payload.get("original")
    seen = _look_at("resumed task", original if isinstance(original, dict) else {})
    answer = json.dumps(payload.get("answer"), ensure_ascii=False)
    _report(task, "success", f"Was told {answer} and went on. {seen}")


def _look_at(what: str, payload: Thing) -> str:
    if isinstance(payload.get("diff"), str):
        return summary_of_diff(str(payload["diff"]))
    named = ", ".join(sorted(payload)) or "nothing"
    return f"Looked at a {what}, which brought {named}."


def summary_of_diff(diff: str) -> str:
    """Files, lines, and where most of it happens."""
    changes: dict[str, list[int]] = {}
    name = ""
    for line in diff.splitlines():
        if line.startswith("+++ "):
            name = line[4:].split("\t")[0].removeprefix("b/")
            changes.setdefault(name, [0, 0])
        elif line.startswith(("+", "-")) and not line.startswith("---") and name:
            changes[name][line.startswith("-")] += 1
    if not changes:
        return "The diff changes no file."
    most = max(changes, key=lambda one: sum(changes[one]))
    added, removed = (sum(one[side] for one in changes.values()) for side in (0, 1))
    files = "1 file" if len(changes) == 1 else f"{len(changes)} files"
    return f"The diff changes {files} (+{added} -{removed}), most of it in {most}."


# The parts it can be told to play


def _skip(task: Thing, payload: Thing) -> None:
    _report(task, "skipped", "Left it alone.", reason="It was told to skip this.")


def _fail(task: Thing, payload: Thing) -> None:
    _report(task, "failed", "Could not do it.", error="It was told to fail.")


def _be_killed(task: Thing, payload: Thing) -> None:
    _report(task, "killed", "Was ended.", error="It was told to say that it was killed.")


def _ask(task: Thing, payload: Thing) -> None:
    """`question`, `options` and `default` beside `do` are asked instead."""
    asked: Thing = {"question": "Shall it go on?", "options": ["yes", "no"], "default": "yes"}
    part = payload["rehearsal"]
    assert isinstance(part, dict)
    if "question" in part:
        asked = {name: part[name] for name in asked if name in part}
    _report(task, "needs_human", "Has a question.", **asked)


def _pass_on(task: Thing, payload: Thing) -> None:
    """To the general that `to` names, beside `do`."""
    part = payload["rehearsal"]
    assert isinstance(part, dict)
    _report(task, "success", "It is for another.", route=str(part.get("to", "gen-nobody")))


def _crash(task: Thing, payload: Thing) -> None:
    sys.stderr.write("It was told to crash.\n")
    sys.stderr.flush()
    os._exit(3)


def _end_by_signal(task: Thing, payload: Thing) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _hang(task: Thing, payload: Thing) -> None:
    while True:
        time.sleep(_FOR_EVER)


def _stay_late(task: Thing, payload: Thing) -> None:
    """Reports only when it is asked to end, which is too late."""

    def report(*_: object) -> None:
        _succeed(task, payload)
        os._exit(0)

    signal.signal(signal.SIGTERM, report)
    _hang(task, payload)


def _write_nothing(task: Thing, payload: Thing) -> None:
    return


def _write_garbage(task: Thing, payload: Thing) -> None:
    _write("This is no result: {")


def _write_much(task: Thing, payload: Thing) -> None:
    _write("x" * HUGE)


def _contradict(task: Thing, payload: Thing) -> None:
    _report(task, "success", "Done.", error="It was told to contradict itself.")


def _name_another_task(task: Thing, payload: Thing) -> None:
    _report({**task, "task_id": "task-20000101-001"}, "success", "Done, for someone else.")


PARTS: dict[str, Callable[[Thing, Thing], None]] = {
    "ask": _ask,
    "contradict": _contradict,
    "crash": _crash,
    "die": _end_by_signal,
    "fail": _fail,
    "garbage": _write_garbage,
    "hang": _hang,
    "huge": _write_much,
    "killed": _be_killed,
    "late": _stay_late,
    "nothing": _write_nothing,
    "other_task": _name_another_task,
    "route": _pass_on,
    "skip": _skip,
}


def _report(task: Thing, status: str, summary: str, **more: object) -> None:
    body = {"task_id": task["task_id"], "status": status, "summary": f"{SAYS_SO} {summary}", **more}
    _write(json.dumps(body, ensure_ascii=False, indent=2) + "\n")


def _write(text: str) -> None:
    """Whole or not at all, as every soldier should."""
    from kingdom.store import disk

    disk.replace(os.environ["KINGDOM_RESULT_PATH"], text.encode(), sync=False)


if __name__ == "__main__":
    sys.path.append(os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")))
    sys.exit(main())
