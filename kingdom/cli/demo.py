"""`kingdom demo`: the journey of one event, on the terminal."""

from __future__ import annotations

import select
from contextlib import closing
from typing import TYPE_CHECKING

from kingdom.cli.call import Call
from kingdom.cli.launcher import typed_first
from kingdom.cli.parser import Parser
from kingdom.cli.screen import Screen
from kingdom.clock import SystemClock
from kingdom.errors import EXIT_DONE, KingdomError, NeverWorks, TryLater

if TYPE_CHECKING:
    from kingdom.ops.asking import Open
    from kingdom.ops.demo import Journey
    from kingdom.store.paths import BaseDir

LONGEST = 50.0  # seconds for the whole journey
TIME_TO_ANSWER = 10.0
TICK = 0.1
VIEWER, DEFAULT = "viewer", "the demo"
TASKS = 2  # the one that asks, and the one that goes on with the answer
END = """
The kingdom is stopped; its directory is kept. To look around:
{alias}  cd {root}
  kingdom trace {event}
  kingdom queue ls --all
  cat logs/console.log
  kingdom start            # it goes on where it stopped; then: status, logs -f, stop
To remove it: rm -r {root}

One of your own: kingdom init ~/kingdom && cd ~/kingdom && kingdom start
"""


def parser() -> Parser:
    return Parser(
        "demo",
        "Shows the journey of one event in a throw-away base directory: the roles start, an event "
        "becomes a task, a soldier works on it in tmux, asks you something, and reports. It takes "
        "less than a minute and needs no account: the soldier is a rehearsal.",
        "kingdom demo",
        "kingdom demo | tee demo.txt         # plain lines; the question answers itself",
    )


def run(call: Call) -> int:
    parser().read(call)
    from kingdom.ops.demo import make_kingdom
    from kingdom.ops.stopping import end_soldiers, stop

    base = make_kingdom(call.environment)
    screen = Screen(call.environment)
    try:
        event = _show(call, base, screen)
    except KingdomError as error:
        error.remedy = f"{error.remedy} Its directory is kept: {base.root}".strip()
        raise
    finally:
        screen.clear()
        stop(base)
        end_soldiers(base, call.environment)
    alias = "".join(f"{line}\n" for line in typed_first(call))
    print(END.format(root=base.root, event=event, alias=alias), end="")
    return EXIT_DONE


def _show(call: Call, base: BaseDir, screen: Screen) -> str:
    """The whole journey; answers the event's id."""
    from kingdom.ops.demo import Journey, send_sample

    screen.say(f"A throw-away kingdom: {base.root}")
    _start(call, base, screen)
    with closing(Journey(base)) as journey:
        event = send_sample(base, call.environment)
        _travel(call, base, screen, journey)
    return event


def _start(call: Call, base: BaseDir, screen: Screen) -> None:
    from kingdom.cli.start import suite_of
    from kingdom.ops.starting import start
    from kingdom.runtime.detaching import attached

    suite = suite_of(call, base, [])
    screen.spin("the roles start")
    started = start(base, suite, dict(call.environment), launch=attached)
    if started.failed or started.silent:
        name = [*started.failed, *started.silent][0]
        raise TryLater(
            f"{name} did not start.", remedy=f"See: kingdom logs {name} --base-dir {base.root}"
        )
    screen.say(f"The roles run, each a process of its own: {', '.join(started.up)}")


def _travel(call: Call, base: BaseDir, screen: Screen, journey: Journey) -> None:
    clock = SystemClock()
    deadline = clock.monotonic() + LONGEST
    answered = ""
    while not (journey.ended_tasks() >= TASKS and journey.is_quiet()):
        _look(screen, journey)
        question = journey.question()
        if question and question.task_id != answered:
            answered = question.task_id
            _answer(call, base, screen, question)
            deadline = clock.monotonic() + LONGEST
        if clock.monotonic() > deadline:
            raise TryLater(
                "The journey has not come to its end in time.",
                remedy=f"See what is missing: kingdom status --base-dir {base.root}",
                code="demo_late",
            )
        screen.spin(journey.doing)
        select.select([journey] if journey.fileno() >= 0 else [], [], [], TICK)
    _look(screen, journey)


def _look(screen: Screen, journey: Journey) -> None:
    for sight in journey.sights():
        if sight.sentence:
            screen.say(sight.sentence)
        screen.detail(sight.path)
    lines = journey.said()
    if lines:
        screen.say("The envoy tells people:")
    for line in lines:
        screen.plain(f"| {line}")


def _answer(call: Call, base: BaseDir, screen: Screen, asked: Open) -> None:
    """What the viewer says in time, if someone looks; else the default."""
    from kingdom.ops.demo import answer

    default = asked.question.default or "yes"
    clock = SystemClock()
    deadline = clock.monotonic() + TIME_TO_ANSWER
    while screen.is_watched and (left := deadline - clock.monotonic()) > 0:
        typed = screen.ask(f"Your answer ({default} in {left:.0f} s)", left)
        if not typed:
            break
        try:
            screen.say(f"Answered: {answer(base, call.environment, asked, typed, VIEWER)}")
        except NeverWorks as fault:
            screen.plain(str(fault))
        else:
            return
    screen.say(f"Nobody answers, so it is: {default}")
    answer(base, call.environment, asked, default, DEFAULT)
