"""`kingdom ask`: the questions that wait for a person."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kingdom.cli.call import Call
from kingdom.cli.output import age, count, harmless, print_json
from kingdom.cli.parser import QUESTIONS, Parser
from kingdom.clock import SystemClock
from kingdom.errors import EXIT_DONE

if TYPE_CHECKING:
    from kingdom.ops.asking import Asked, Open


def parser() -> Parser:
    made = Parser(
        "ask",
        "Lists the questions that wait for a person, oldest first, with the command that answers "
        "each. A task that asked goes on when it is answered. With a task: its question alone, and "
        "all of what is to be approved, where the question shows only the beginning.",
        "kingdom ask",
        "kingdom ask task-20260207-001",
        "kingdom ask --json | jq -r '.[].task_id'",
    )
    made.takes("task", nargs="?", offers=QUESTIONS, metavar="TASK", help="only its question")
    made.takes_json()
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    from kingdom.ops.asking import question_for, questions

    if options.task:
        return _show(call, question_for(base, options.task), as_json=options.json)
    asked = questions(base)
    if options.json:
        print_json([_plain(one) for one in asked.open])
    else:
        print(harmless("\n".join(_page(asked, SystemClock().now()))))
    return EXIT_DONE


def _show(call: Call, one: Open, *, as_json: bool) -> int:
    """With all that is to be approved, if that is what it asks."""
    from kingdom.runtime import held_actions

    found = held_actions.read(call.base(), one.task_id)
    waiting = [held for held in (found.held if found else ()) if held.shown]
    if as_json:
        approves = [{"action": held.kind, "shown": held.shown} for held in waiting]
        print_json(_plain(one) | {"approves": approves})
        return EXIT_DONE
    whole = [line for held in waiting for line in ("", f"{held.kind}:", held.shown)]
    print(harmless("\n".join((*_lines(one, SystemClock().now()), *whole))))
    return EXIT_DONE


def _plain(one: Open) -> dict[str, Any]:
    return {"task_id": one.task_id, "shown": one.shown, **one.written}


def _page(asked: Asked, now: datetime) -> Iterator[str]:
    for one in asked.open:
        yield from _lines(one, now)
        yield ""
    if asked.answered:
        what = count(len(asked.answered), "question")
        has = "has been answered and waits" if len(asked.answered) == 1 else "have been answered"
        yield f"{what} {has} for the king to go on: " + ", ".join(
            one.task_id for one in asked.answered
        )
    elif not asked.open:
        yield "No question is open."


def _lines(one: Open, now: datetime) -> Iterator[str]:
    question = one.question
    asked = f"asked {age((now - question.asked_at).total_seconds())} ago"
    asked += ", parked: nobody is reminded of it" if question.parked_at else ""
    yield f"{one.task_id}  {asked}" + ("" if one.shown else ", not shown by the envoy yet")
    yield from (f"  {line}" for line in question.question.strip().splitlines())
    for number, option in enumerate(question.options or (), 1):
        yield f"    {number}. {option}"
    if question.default is not None:
        yield f"  {_otherwise(question.expires_at, now)} it will be: {question.default}"
    yield f"  Answer with: {command(one)}"


def _otherwise(expires_at: datetime | None, now: datetime) -> str:
    if expires_at is None:
        return "Unless someone answers,"
    if expires_at <= now:
        return "Nobody answered in time, so"
    return f"If nobody answers by {expires_at:%Y-%m-%d %H:%M} UTC,"


def command(one: Open) -> str:
    import shlex

    options = one.question.options
    return f"kingdom answer {one.task_id} " + (
        shlex.quote(options[0]) if options else '"your answer"'
    )
