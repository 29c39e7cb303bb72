"""`kingdom answer`: what a person says to a question, passed on to the king."""

from __future__ import annotations

import os
from contextlib import closing

from kingdom.cli.call import Call
from kingdom.cli.failure import say
from kingdom.cli.opening import open_for
from kingdom.cli.output import harmless
from kingdom.cli.parser import QUESTIONS, Parser
from kingdom.errors import EXIT_DONE, UsageError
from kingdom.models.ids import TASK_ID

KING = "king"


def parser() -> Parser:
    made = Parser(
        "answer",
        "Answers a question, so that the task that asked it goes on. Options may be named by their "
        "number. Without a task it is the one open question. kingdom ask lists them.",
        'kingdom answer task-20260207-001 "the main branch"',
        "kingdom answer task-20260207-001 2      # the second option",
        "kingdom answer yes                      # there is one question only",
    )
    made.takes(
        "words",
        nargs="*",
        offers=QUESTIONS,
        metavar="TASK ANSWER",
        help="the task that asked, then the answer; the task may be left out if only one asks",
    )
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    task_id, text = _split(options.words)
    from kingdom.clock import SystemClock
    from kingdom.ops.asking import answer, question_for
    from kingdom.runtime.processes import Seat

    asked = question_for(base, task_id)
    if not text:
        raise _no_answer(asked.task_id)
    with closing(open_for(call, base)) as bus:
        now = SystemClock().now()
        _, meant = answer(bus, asked, text, answered_by=_who(call), now=now)
    print(harmless(f"Answered {asked.task_id}: {meant}"))
    if not Seat(base, KING).is_taken():
        say("The king is not running, so the answer waits for it: kingdom start")
    return EXIT_DONE


def _split(words: list[str]) -> tuple[str | None, str]:
    """The task, if one is named, and the answer. Nobody has to remember the quotes."""
    if words and TASK_ID.fullmatch(words[0]):
        return words[0], " ".join(words[1:]).strip()
    if len(words) > 1 and TASK_ID.fullmatch(words[-1]):
        swapped = f'kingdom answer {words[-1]} "{" ".join(words[:-1])}"'
        raise UsageError("answer: the task comes first.", remedy=f"Like this: {swapped}")
    text = " ".join(words).strip()
    if not text:
        raise _no_answer("TASK")
    return None, text


def _no_answer(task_id: str) -> UsageError:
    return UsageError(
        "answer: it does not say what the answer is.",
        remedy=f'For example: kingdom answer {task_id} "yes". Open questions: kingdom ask',
    )


def _who(call: Call) -> str:
    named = call.environment.get("USER") or call.environment.get("LOGNAME")
    if named:
        return named
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"
