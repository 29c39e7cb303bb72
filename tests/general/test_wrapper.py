"""A soldier's wrapper alone: no general watches, no tmux either."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kingdom.engines import soldier, tree
from tests.support.processes import is_alive
from tests.support.soldiers import DEAF, SPREAD, STAY
from tests.support.waiting import eventually, let_pass

ID = f"soldier-1-{os.getpid()}"
RESULT = '{"task_id": "task-20260207-001", "status": "success", "summary": "done"}'


class Post:
    """Where one wrapper stands."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.process: subprocess.Popen[bytes] | None = None
        place.joinpath("prompt").write_text("Do it.", "utf-8")

    def write(self, script: str = "true", **values: Any) -> None:
        spec = {
            "soldier_id": ID,
            "task_id": "task-20260207-001",
            "argv": ["/bin/sh", "-c", script],
            "environment": {"PATH": os.environ["PATH"], tree.MARK: ID, "RESULT": self.path("raw")},
            "cwd": str(self.place),
            "stdin": self.path("prompt"),
            "stdout": self.path("out"),
            "stderr": self.path("err"),
            "result_path": self.path("raw"),
            "timeout_seconds": 60,
            "linger_seconds": 10,
            "verify": [],
            **values,
        }
        part = self.place / "part"
        part.write_text(json.dumps(spec), "utf-8")
        part.rename(self.place / "spec.json")

    def start(self, *program: str) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-I", "-S", *(program or [soldier.__file__])]
        self.process = subprocess.Popen([*argv, self.path("spec.json")], stdout=subprocess.DEVNULL)
        return self.process

    def run(self, script: str, **values: Any) -> dict[str, Any]:
        self.write(script, **values)
        assert self.start().wait(30) == 0
        return self.exit()

    def exit(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.place.joinpath("spec.exit").read_text("utf-8"))
        return found

    def path(self, name: str) -> str:
        return str(self.place / name)

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        tree.send(tree.members(-1, ID), signal.SIGKILL)


@pytest.fixture
def post(scratch: Path) -> Iterator[Post]:
    made = Post(scratch)
    yield made
    made.close()


def test_the_program_gets_the_prompt_and_its_output_is_kept(post: Post) -> None:
    ended = post.run('cat; echo out; echo err >&2; tty; umask; echo "$RESULT"')
    assert (ended["code"], ended["signal"], ended["reason"]) == (0, None, "ended")
    out = post.place.joinpath("out").read_text("utf-8")
    assert out == f"Do it.out\nnot a tty\n0077\n{post.path('raw')}\n"
    assert post.place.joinpath("err").read_text("utf-8") == "err\n"
    assert {post.place.joinpath(one).stat().st_mode & 0o777 for one in ("out", "err")} == {0o600}


@pytest.mark.parametrize(
    ("script", "code", "number"), [("exit 3", 3, None), ("kill -9 $$", None, 9)]
)
def test_the_exit_code_or_signal_is_kept(
    post: Post, script: str, code: int | None, number: int | None
) -> None:
    ended = post.run(script)
    assert (ended["code"], ended["signal"]) == (code, number)


def test_its_own_limit_ends_the_whole_tree(post: Post) -> None:
    ended = post.run("setsid sleep 1000 & (setsid sleep 1000 &); sleep 1000", timeout_seconds=0.5)
    assert ended["reason"] == "deadline"
    assert tree.members(-1, ID) == {}


def test_one_that_makes_the_same_call_again_and_again_is_ended(post: Post) -> None:
    call = (
        '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"%s","name":"Bash"}]}}'
    )
    script = f"for one in 1 2 3; do printf '{call}\\n' $one; done; sleep 1000"
    ended = post.run(script, engine="claude", same_call=3)
    assert (ended["reason"], ended["signal"]) == ("same_call", signal.SIGTERM)


def test_frozen_time_does_not_count(post: Post) -> None:
    limits: dict[str, Any] = {"timeout_seconds": 0.1, "no_progress_seconds": 0.1}
    post.write("touch up; sleep 1000", **limits, frozen_at=time.time())
    process = post.start()
    eventually(lambda: post.place.joinpath("up").exists(), "it runs")
    let_pass(1.2)  # more than between two of its looks
    assert process.poll() is None
    post.write("sleep 1000", **limits)
    assert process.wait(30) == 0
    assert post.exit()["reason"] == "deadline"


# The real one asks for 5 s before it kills.
IMPATIENT = f"""
import sys
sys.path.append({str(Path(soldier.__file__).parents[2])!r})
from kingdom.engines import wrapper
wrapper._GRACE = 0.2
sys.exit(wrapper.main(sys.argv[1]))
"""


def test_what_does_not_end_when_asked_is_killed_with_all_that_is_its(post: Post) -> None:
    post.write(f"KINGDOM_WORKSPACE=.\n{DEAF}{SPREAD}{STAY}")
    process = post.start("-c", IMPATIENT)
    eventually(lambda: post.place.joinpath("up").exists(), "it runs")
    eventually(lambda: len(tree.members(-1, ID)) >= 4, "all of its processes")
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    assert (post.exit()["reason"], post.exit()["signal"]) == ("asked", signal.SIGKILL)
    assert tree.members(-1, ID) == {}


def test_what_a_program_leaves_behind_is_ended(post: Post) -> None:
    assert post.run("setsid sleep 1000 & exit 0")["reason"] == "ended"
    assert tree.members(-1, ID) == {}


def test_a_program_that_has_reported_and_does_not_end_is_ended(post: Post) -> None:
    ended = post.run(f"echo '{RESULT}' > $RESULT; sleep 1000", linger_seconds=0.3, verify=["true"])
    assert (ended["reason"], ended["verify"][0]["code"]) == ("lingered", 0)


def test_one_that_has_reported_may_finish_what_it_says(post: Post) -> None:
    """It reported longer ago than the patience with it lasts, and spoke just now."""
    script = f"echo '{RESULT}' > $RESULT; touch -d '20 seconds ago' $RESULT; echo so; sleep 1.5"
    ended = post.run(script, linger_seconds=10)
    assert (ended["reason"], ended["code"]) == ("ended", 0)


def test_one_that_has_reported_and_never_stops_talking_is_ended(post: Post) -> None:
    script = f"echo '{RESULT}' > $RESULT; while :; do echo more; sleep 0.05; done"
    assert post.run(script, linger_seconds=0.3)["reason"] == "lingered"


@pytest.mark.parametrize(
    ("number", "reason"),
    [(signal.SIGHUP, "hangup"), (signal.SIGTERM, "asked"), (signal.SIGUSR1, "stopped")],
)
def test_a_signal_ends_the_whole_tree(post: Post, number: signal.Signals, reason: str) -> None:
    post.write("setsid sleep 1000 & touch up; sleep 1000")
    process = post.start()
    eventually(lambda: post.place.joinpath("up").exists(), "it runs")
    process.send_signal(number)
    assert process.wait(30) == 0
    assert post.exit()["reason"] == reason
    assert tree.members(-1, ID) == {}


def test_its_program_dies_with_a_wrapper_that_is_killed(post: Post) -> None:
    post.write("echo $$ > pid.part; mv pid.part pid; exec sleep 1000")
    process = post.start()
    eventually(lambda: post.place.joinpath("pid").exists(), "it runs")
    pid = int(post.place.joinpath("pid").read_text("ascii"))
    process.kill()
    process.wait()
    eventually(lambda: not is_alive(pid), "its program is gone")


def test_an_attempt_that_was_given_up_is_not_begun(post: Post) -> None:
    post.write("touch begun")
    post.place.joinpath("spec.claim").write_text("revoked", "ascii")
    assert post.start().wait(30) == 0
    post.place.joinpath("spec.json").unlink()
    post.place.joinpath("spec.claim").unlink()
    assert post.start().wait(30) == 0
    assert not post.place.joinpath("begun").exists()
    assert not post.place.joinpath("spec.exit").exists()


def test_a_failed_check_is_the_last(post: Post) -> None:
    ended = post.run(f"echo '{RESULT}' > $RESULT", verify=["true", "exit 2", "touch never"])
    assert [one["code"] for one in ended["verify"]] == [0, 2]
    assert not post.place.joinpath("never").exists()


def test_nothing_is_checked_without_a_success(post: Post) -> None:
    assert post.run("true", verify=["touch never"])["verify"] == []
    assert not post.place.joinpath("never").exists()


FLOOD = "for n in $(seq 60); do head -c 1000000 /dev/zero; done; sleep 1000"


@pytest.mark.parametrize("to", ["", ">&2"])
def test_a_program_that_floods_is_killed_and_most_of_it_thrown_away(post: Post, to: str) -> None:
    deaf = f'trap "" TERM HUP INT; echo begins {to}; ({FLOOD}) {to}'
    ended = post.run(deaf, max_output_bytes=4_000_000)
    assert ended["reason"] == "flooded"
    assert ended["signal"] == 9 or ended["code"] == 128 + 9  # whichever of its two died first
    assert tree.members(-1, ID) == {}
    kept = post.place.joinpath("err" if to else "out").read_bytes()
    assert kept.startswith(b"begins\n")
    assert kept.endswith(b" bytes in all]\n")
    assert len(kept) < 1_100_000


def test_a_check_that_floods_is_killed_as_well(post: Post) -> None:
    checks = [FLOOD, "touch never"]
    ended = post.run(f"echo '{RESULT}' > raw", max_output_bytes=2_000_000, verify=checks)
    assert (ended["reason"], len(ended["verify"])) == ("flooded", 1)
    assert not post.place.joinpath("never").exists()
    assert post.place.joinpath("err").stat().st_size < 1_100_000


def test_as_much_as_allowed_is_kept_whole(post: Post) -> None:
    script = "head -c 2000000 /dev/zero; head -c 2000000 /dev/zero >&2"
    ended = post.run(f"{script}; sleep 1", max_output_bytes=4_000_000)
    assert ended["reason"] == "ended"
    sizes = [post.place.joinpath(name).stat().st_size for name in ("out", "err")]
    assert sizes == [2_000_000, 2_000_000]


def test_a_check_is_not_measured_by_the_soldier_s_clock(post: Post) -> None:
    beat = post.place / "beat"
    waits = "touch up; until [ -e go ]; do sleep 0.02; done"
    values: dict[str, Any] = {"verify": [waits], "heartbeat_path": str(beat)}
    post.write(f"echo '{RESULT}' > raw", **values)
    process = post.start()
    eventually(post.place.joinpath("up").exists, "the check runs")
    post.write(**values, timeout_seconds=0, no_progress_seconds=0)  # the soldier's time is over
    eventually(beat.exists, "signs of life")
    let_pass(1.2)  # more than between two looks at the clock
    post.place.joinpath("go").touch()
    assert process.wait(30) == 0
    assert (post.exit()["reason"], post.exit()["verify"][0]["code"]) == ("ended", 0)


def test_a_check_that_takes_too_long_is_ended_and_the_last(post: Post) -> None:
    slow = "trap 'exit 0' TERM; touch up; sleep 1000 & wait"
    values: dict[str, Any] = {"verify": [slow, "touch never"], "verify_timeout_seconds": 0.3}
    post.write(f"echo '{RESULT}' > raw", **values, frozen_at=time.time())
    process = post.start()
    eventually(post.place.joinpath("up").exists, "the check runs")
    post.write(**values)  # now its time counts
    assert process.wait(30) == 0
    ended = post.exit()
    assert ended["reason"] == "ended"
    (check,) = ended["verify"]
    assert check.pop("seconds") >= 0.3
    assert check == {"command": slow, "code": 0, "late_after_seconds": 0.3}
    assert tree.members(-1, ID) == {}
    assert not post.place.joinpath("never").exists()


def test_while_a_check_runs_it_is_said_which(post: Post) -> None:
    post.write(f"echo '{RESULT}' > raw", verify=["true", "until [ -e go ]; do sleep 0.02; done"])
    process, path = post.start(), post.place / "spec.checks"
    eventually(lambda: path.exists() and "[ -e go ]" in path.read_text(), "the second is named")
    post.place.joinpath("go").touch()
    assert process.wait(30) == 0
    assert [one["code"] for one in post.exit()["verify"]] == [0, 0]


def test_frozen_time_does_not_count_for_a_check(post: Post) -> None:
    check = "touch up; until [ -e go ]; do sleep 0.02; done"
    values: dict[str, Any] = {"verify": [check], "verify_timeout_seconds": 0.5}
    post.write(f"echo '{RESULT}' > raw", **values, frozen_at=time.time())
    process = post.start()
    eventually(post.place.joinpath("up").exists, "the check runs")
    let_pass(1.2)  # more than it may take
    assert process.poll() is None
    post.place.joinpath("go").touch()
    assert process.wait(30) == 0
    assert post.exit()["verify"] == [{"command": check, "code": 0, "seconds": 0.0}]


# The real one takes a pause for a gap when it is longer than 5 s.
WAKEFUL = f"""
import sys
sys.path.append({str(Path(soldier.__file__).parents[2])!r})
from kingdom.engines import time_limits, wrapper
time_limits._LONGEST_TICK = 0.7
sys.exit(wrapper.main(sys.argv[1]))
"""


def test_time_in_which_all_of_it_stood_still_does_not_count(post: Post) -> None:
    """As on a machine that sleeps: neither for the program nor for a check of what it did."""
    waits = "touch {0}-up; until [ -e {0}-go ]; do sleep 0.02; done"
    limits = ("timeout_seconds", "no_progress_seconds", "linger_seconds", "verify_timeout_seconds")
    values = dict.fromkeys(limits, 1.0)
    script = f"echo '{RESULT}' > raw; {waits.format('program')}"
    post.write(script, verify=[waits.format("check")], **values)
    process = post.start("-c", WAKEFUL)
    for name in ("program", "check"):
        eventually(post.place.joinpath(f"{name}-up").exists, f"the {name} runs")
        everyone = [process.pid, *tree.members(process.pid, ID)]
        tree.send(everyone, signal.SIGSTOP)
        let_pass(1.5)
        post.place.joinpath(f"{name}-go").touch()
        tree.send(reversed(everyone), signal.SIGCONT)
    assert process.wait(30) == 0
    ended = post.exit()
    assert (ended["reason"], ended["verify"][0]["code"]) == ("ended", 0)
    assert ended["worked_seconds"] < 1.0
    assert ended["verify"][0]["seconds"] < 1.0
