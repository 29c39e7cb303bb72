"""`kingdom errors`: every way something can fail, and what to do about it."""

from __future__ import annotations

from kingdom.cli.call import Call
from kingdom.cli.parser import FAILURE_CODES, Parser
from kingdom.errors import EXIT_DONE, UsageError
from kingdom.failures import FAILURES, FATES, Failure


def parser() -> Parser:
    made = Parser(
        "errors",
        "Explains a failure's code: what happened, what to do about it, and whether the kingdom "
        "tries again by itself. Without a code, all of them.",
        "kingdom errors",
        "kingdom errors timed_out",
    )
    made.takes("code", nargs="?", offers=FAILURE_CODES, metavar="CODE", help="which one")
    made.takes_json()
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    if options.code is not None and options.code not in FAILURES:
        raise _unknown(options.code)
    chosen = [FAILURES[options.code]] if options.code else list(FAILURES.values())
    if options.json:
        from kingdom.cli.output import print_json

        found = [_as_json(failure) for failure in chosen]
        print_json(found[0] if options.code else found)
    elif options.code:
        _explain(chosen[0])
    else:
        from kingdom.cli.output import print_table

        print_table(("CODE", "WHAT HAPPENED"), ((one.code, one.sentence) for one in chosen))
    return EXIT_DONE


def _explain(failure: Failure) -> None:
    print(f"{failure.code}: {failure.sentence}")
    print(f"  What to do:  {failure.remedy}")
    print(f"  Then:        {FATES[failure.fate]}")


def _as_json(failure: Failure) -> dict[str, str]:
    return {
        "code": failure.code,
        "sentence": failure.sentence,
        "remedy": failure.remedy,
        "fate": failure.fate,
    }


def _unknown(code: str) -> UsageError:
    from kingdom.cli.failure import did_you_mean

    hint = did_you_mean(code, FAILURES, "kingdom errors {}") or "All codes: kingdom errors"
    return UsageError(f"There is no failure {code!r}.", remedy=hint)
