"""What a soldier is doing reaches those who look and those who wait, and not too often."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.port import Move
from kingdom.general.following import SECONDS, is_due, presentable
from kingdom.settings.system import Progress
from tests.support.barracks import Barracks, Life, environment
from tests.support.soldiers import STAY
from tests.support.waiting import eventually

PACE = Progress(thread_after_seconds=120, thread_every_seconds=300)
# Prints what the test hands it, line by line, and ends when it is told to.
SCRIPT = """
echo '{"type":"system","subtype":"init"}'
n=0
while :; do
  if [ -e "$HOME/say.$n" ]; then cat "$HOME/say.$n"; n=$((n+1)); fi
  [ -e "$HOME/end" ] && break
  sleep 0.02
done
printf '{"task_id": "%s", "status": "success", "summary": "done"}' $KINGDOM_TASK_ID \\
  > "$KINGDOM_RESULT_PATH"
echo '{"type":"result","subtype":"success","is_error":false,"usage":{"output_tokens":1}}'
"""


class Post:
    """One general with one soldier that says what it is told to."""

    def __init__(self, barracks: Barracks, **progress: float) -> None:
        self.barracks = barracks
        self.home = Path(barracks.base.root, "home")
        self.home.mkdir()
        self.env = environment(HOME=str(self.home), ACME_TOKEN="hunter2-hunter2")
        barracks._program("act", SCRIPT)
        runtime = {"engine": "claude", "claude": {"command": "./act"}}
        system: dict[str, Any] = {"durability": "fast", "runtime": runtime, "progress": progress}
        self.system = system
        barracks.configure("system", **system)
        barracks.package(timeout_seconds=100_000)
        (self.task,) = barracks.publish()
        self._said = 0

    def uses(self, tool: str, **given: str) -> None:
        block = {"type": "tool_use", "name": tool, "input": given}
        message = {"id": f"msg_{self._said}", "content": [block]}
        line = json.dumps({"type": "assistant", "message": message}, separators=(",", ":"))
        part = self.home / "part"
        part.write_text(f"{line}\n", "utf-8")
        part.rename(self.home / f"say.{self._said}")
        self._said += 1

    def doing(self) -> str:
        return "".join(one.get("doing", "") for one in self.barracks.sessions())

    def shows(self, life: Life, text: str) -> None:
        """Time passes as far as the general looks again."""

        def there() -> bool:
            self.barracks.clock.shift(0.1)
            return text in self.doing()

        life.until(there, f"sessions.json says {text}")

    def passes(self, life: Life, seconds: float) -> None:
        """And the general has had its looks meanwhile."""
        self.barracks.clock.shift(seconds)
        for _ in range(3):
            life.turn()

    def messages(self, state: str = "pending") -> list[dict[str, Any]]:
        paths = sorted(Path(self.barracks.base.queue, "messages", state).glob("msg-*.json"))
        return [json.loads(path.read_text("utf-8")) for path in paths]

    def told(self) -> list[str]:
        return [one["content"] for one in self.messages("sent") + self.messages()]

    def deliver(self) -> None:
        """As the envoy does it."""
        with self.barracks.outside_bus() as bus:
            for claim in bus.claim("messages", "envoy", 10):
                bus.commit([Move(claim, "sent")])


def test_long_work_is_told_of_in_its_thread_with_pauses_and_only_what_is_new(
    barracks: Barracks,
) -> None:
    post = Post(barracks)
    with barracks.general(env=post.env) as life:
        post.uses("Edit", file_path="src/app.py")
        post.shows(life, "Edit: src/app.py (turn 1)")
        assert post.told() == []

        post.passes(life, 125)
        (message,) = post.messages()
        assert message["content"] == "gen-pr has been at it for 2m: Edit: src/app.py (turn 1)"
        assert (message["type"], message["task_id"]) == ("thread_update", post.task)
        assert (message["trace_id"], message["channel"]) == ("trace-1", "")
        assert message["id"].startswith("msg-")
        post.deliver()

        post.passes(life, 400)
        assert len(post.told()) == 1, "it is still at the same"
        post.uses("Bash", command="make test")
        post.shows(life, "Bash: make test")
        post.passes(life, 5)
        assert len(post.told()) == 2
        post.deliver()

        post.uses("Bash", command="make lint")
        post.shows(life, "make lint")
        post.passes(life, 200)
        assert len(post.told()) == 2, "it was told a moment ago"
        post.passes(life, 200)
        assert len(post.told()) == 3
        (post.home / "end").touch()
        assert life.result_of(post.task)["status"] == "success"
        post.deliver()
        assert len(post.told()) == 3


def test_what_nobody_has_read_yet_is_not_followed_by_more(barracks: Barracks) -> None:
    post = Post(barracks)
    with barracks.general(env=post.env) as life:
        for number in range(4):
            post.uses("Read", file_path=f"{number}.py")
            post.shows(life, f"{number}.py")
            post.passes(life, 500)
        assert len(post.told()) == 1
        post.deliver()
        post.passes(life, 5)
        assert [content.rpartition(": ")[2] for content in post.told()] == [
            "0.py (turn 1)",
            "3.py (turn 4)",
        ]


def test_a_general_that_comes_back_keeps_the_pause(barracks: Barracks) -> None:
    post = Post(barracks)
    with barracks.general(env=post.env) as life:
        post.uses("Edit", file_path="a.py")
        post.shows(life, "a.py")
        post.passes(life, 125)
        post.deliver()
    post.uses("Edit", file_path="b.py")
    barracks.clock.shift(61)  # its lease is over: its process, this one, goes on
    with barracks.general(env=post.env) as life:
        post.shows(life, "b.py")
        post.passes(life, 5)
        assert len(post.told()) == 1
        post.passes(life, 300)
        assert len(post.told()) == 2


def test_a_general_that_was_killed_keeps_it_too(barracks: Barracks) -> None:
    post = Post(barracks, thread_after_seconds=0.2)
    pid = barracks.spawn(env=post.env)
    post.uses("Edit", file_path="a.py")
    eventually(lambda: post.told() and "a.py" in post.doing(), "the thread is told")
    barracks.kill(pid)
    post.deliver()
    post.uses("Edit", file_path="b.py")
    barracks.spawn(env=post.env)
    eventually(lambda: "b.py" in post.doing(), "it is followed again")
    assert len(post.told()) == 1, "told in the same step or not at all"
    (post.home / "end").touch()
    eventually(lambda: barracks.result(post.task), "its result")
    assert len(post.told()) == 1


def test_the_next_attempt_keeps_it_too_and_says_which_it_is(barracks: Barracks) -> None:
    post = Post(barracks)
    barracks.package(timeout_seconds=100_000, retry={"max_attempts": 2, "backoff_seconds": 0.05})
    with barracks.general(env=post.env) as life:
        post.uses("Edit", file_path="a.py")
        post.shows(life, "a.py")
        post.passes(life, 125)
        post.deliver()
        first = barracks.soldier(post.task)
        os.kill(barracks.wrapper(post.task), signal.SIGKILL)
        life.until(lambda: barracks.soldier(post.task) != first, "another soldier is at it")
        post.uses("Edit", file_path="b.py")
        post.shows(life, "b.py")
        post.passes(life, 200)
        assert len(post.told()) == 1, "it was told of another attempt a moment ago"
        post.passes(life, 150)
        assert post.told()[1].startswith("gen-pr has been at it for 5m (attempt 2): Edit: b.py")


def test_one_that_has_said_nothing_yet_is_looked_at_again_soon_but_not_for_ever(
    barracks: Barracks,
) -> None:
    barracks.command(STAY)
    barracks.package(timeout_seconds=100_000)
    barracks.publish()
    with barracks.general() as life:
        life.until(lambda: barracks.states() == ["running"], "it runs")
        assert life.role.step() <= SECONDS
        barracks.clock.shift(60)
        life.until(lambda: life.role.step() > SECONDS, "nobody is to be looked at soon")


def test_nothing_is_told_where_it_is_switched_off(barracks: Barracks) -> None:
    post = Post(barracks, thread_after_seconds=0)
    with barracks.general(env=post.env) as life:
        post.uses("Edit", file_path="a.py")
        post.shows(life, "a.py")
        post.passes(life, 5000)
        assert post.told() == []


def test_a_frozen_soldier_does_nothing_that_could_be_told(barracks: Barracks) -> None:
    post = Post(barracks)
    with barracks.general(env=post.env) as life:
        post.uses("Edit", file_path="a.py")
        post.shows(life, "a.py")
        barracks.ask(f"{post.task}.freeze")
        life.until(lambda: barracks.states() == ["frozen"], "it is frozen")
        post.passes(life, 1000)
        assert post.told() == []


def test_what_a_soldier_names_is_data(barracks: Barracks) -> None:
    post = Post(barracks)
    with barracks.general(env=post.env) as life:
        name = "Edit\x1b[2J\n" + "x" * 300
        post.uses(name, command="curl -H 'Authorization: Bearer hunter2-hunter2' \u202e")
        post.shows(life, "Edit\\u001b[2J xxx")
        post.passes(life, 125)
        (told,) = post.told()
        assert "\n" not in told
        assert len(told) < 220
        post.deliver()
        post.uses("Bash", command="echo hunter2-hunter2 {general} \u202e%s")
        post.shows(life, "echo *** {general} \\u202e%s")
        assert "hunter2" not in post.doing()
        post.uses("Bash", command=f"{'a' * 70} hunter2-hunter2")
        post.shows(life, "a" * 70)
        assert "hunter" not in post.doing(), "cut in the middle, it would be half a secret"


def test_it_is_told_in_the_language_of_people(barracks: Barracks) -> None:
    post = Post(barracks)
    barracks.configure("system", **(post.system | {"language": "ko"}))
    with barracks.general(env=post.env) as life:
        post.uses("Edit", file_path="한글.py")
        post.shows(life, "한글.py")
        post.passes(life, 125)
        assert post.told() == ["gen-pr, 작업 중입니다 (2분): Edit: 한글.py (turn 1)"]


# The decision


@pytest.mark.parametrize(
    ("told", "worked", "now", "due"),
    [
        ({}, 119, 1000, False),
        ({}, 120, 1000, True),
        ({"at": 1000}, 500, 1299, False),
        ({"at": 1000}, 500, 1300, True),
        ({"at": 1000}, 119, 1300, False),
        ({"at": 5000}, 500, 1300, True),  # the clock was set back
        ({"at": "soon"}, 500, 1300, True),  # damaged
    ],
)
def test_when_a_thread_is_told(told: Any, worked: float, now: float, due: bool) -> None:
    assert is_due(told, worked, now, PACE) is due
    assert not is_due(told, worked, now, Progress(thread_after_seconds=0))


def test_without_a_pause_it_is_told_once() -> None:
    once = Progress(thread_every_seconds=0)
    assert is_due({}, 120, 1000, once)
    assert not is_due({"at": 1000}, 9999, 9999, once)


def test_presentable_is_one_short_line() -> None:
    assert presentable("a\n\tb\x07") == "a b\\u0007"
    assert len(presentable("가" * 1000)) == 160
