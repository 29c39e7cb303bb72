"""What each git command may be given: known options in full, and places within the workspace.

Options are admitted by name; all others are refused, those of tomorrow's git among them. Left out
on purpose is what reads or writes a file of the soldier's choice (`--output`, `--contents`,
`--no-index`, `-O`, `-S` of blame, `-F` of commit), what runs something (`--ext-diff`, `--textconv`,
`-O` of grep), and what asks an editor.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass


class Refused(Exception):
    """A word that is not admitted."""


@dataclass(frozen=True)
class Form:
    """`valued` take `=VALUE`, and those in `apart` also the next word; `short` is a pattern."""

    flags: frozenset[str]
    valued: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()
    short: str = r"(?!)"
    first: tuple[str, ...] = ()  # put before everything else
    needs: str = ""  # what one of its words must match


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DIFF_FLAGS = _names(
    """-p -u -s -z -R -a -b -w -W -B -M -C -D --patch --no-patch --raw --patch-with-raw
    --patch-with-stat --stat --numstat --shortstat --compact-summary --summary --dirstat
    --cumulative --name-only --name-status --color --no-color --color-moved --no-color-moved
    --color-words --word-diff --no-renames --find-renames --find-copies --find-copies-harder
    --full-index --binary --abbrev --no-abbrev --check --text --minimal --patience --histogram
    --indent-heuristic --no-indent-heuristic --irreversible-delete --function-context
    --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change --ignore-all-space
    --ignore-blank-lines --pickaxe-all --pickaxe-regex --relative --no-relative --no-prefix
    --exit-code --quiet --no-ext-diff --no-textconv"""
)
_DIFF_VALUED = _names(
    """--stat --stat-width --stat-name-width --stat-count --dirstat --unified --inter-hunk-context
    --diff-filter --diff-algorithm --anchored --color --color-moved --color-words --word-diff
    --word-diff-regex --abbrev --find-renames --find-copies --find-object --relative --src-prefix
    --dst-prefix --ignore-matching-lines --ws-error-highlight"""
)
_LOG_FLAGS = _names(
    """-i -E -F -P -g -m -c -r -t --cc --oneline --all --branches --tags --remotes --merges
    --no-merges --first-parent --reverse --graph --no-graph --decorate --no-decorate --date-order
    --author-date-order --topo-order --follow --abbrev-commit --no-abbrev-commit --full-history
    --dense --simplify-merges --simplify-by-decoration --ancestry-path --cherry --cherry-pick
    --cherry-mark --left-right --left-only --right-only --boundary --no-walk --not --parents
    --children --invert-grep --all-match --regexp-ignore-case --extended-regexp --fixed-strings
    --perl-regexp --full-diff --walk-reflogs --source --relative-date --pretty --no-notes --notes
    --no-expand-tabs --log-size --no-mailmap --mailmap --combined-all-paths --no-diff-merges
    --diff-merges=first-parent --diff-merges=combined --diff-merges=separate"""
)
_LIMITS = _names(
    "--max-count --skip --since --after --until --before --author --committer --grep --date"
)
_LOG_VALUED = _LIMITS | _names(
    """--format --pretty --decorate --decorate-refs --decorate-refs-exclude --branches --tags
    --remotes --glob --exclude --min-parents --max-parents --no-walk --encoding"""
)
_NUMBERED = r"-[UMCBl]\d+%?|-[SG].+"
_QUIET = ("--no-ext-diff", "--no-textconv")
# There git runs another git, which knows nothing of what this one was told.
_NOT_WITHIN_SUBMODULES = ("--ignore-submodules=dirty",)

_DIFF = Form(
    _DIFF_FLAGS | _names("--cached --staged --merge-base --cc --base --ours --theirs -0 -1 -2 -3"),
    _DIFF_VALUED,
    _names("-S -G"),
    _NUMBERED,
    (*_QUIET, *_NOT_WITHIN_SUBMODULES),
)
_LOG = Form(
    _DIFF_FLAGS | _LOG_FLAGS,
    _DIFF_VALUED | _LOG_VALUED,
    _LIMITS | _names("-n -S -G -L"),
    rf"-n?\d+|-L.+|{_NUMBERED}",
    _QUIET,
)
_BLAME = Form(
    _names(
        """-l -t -e -f -n -s -w -c -b -p -M -C --root --show-stats --show-name --show-number
        --show-email --porcelain --line-porcelain --incremental --reverse --first-parent
        --color-lines --color-by-age --no-progress --minimal --no-textconv"""
    ),
    _names("--date --since --abbrev --ignore-rev --diff-algorithm"),
    _names("-L --ignore-rev"),
    r"-L.+|-[MC]\d+",
    ("--no-textconv",),
)
_STATUS = Form(
    _names(
        """--short --branch --show-stash --porcelain --long --untracked-files --ignored
        --ahead-behind --no-ahead-behind --renames --no-renames --find-renames
        --no-column"""
    ),
    _names("--porcelain --untracked-files --ignored --find-renames"),
    short=r"-[sbz]+|-u(?:no|all|normal)?",
    first=_NOT_WITHIN_SUBMODULES,
)
_GREP = Form(
    _names(
        """--cached --line-number --column --ignore-case --word-regexp --invert-match --count
        --extended-regexp --fixed-strings --perl-regexp --basic-regexp --files-with-matches
        --name-only --files-without-match --only-matching --show-function --function-context
        --heading --break --color --no-color --full-name --text --all-match --and --or --not
        --quiet -W -p --no-textconv"""
    ),
    _names("--max-depth --after-context --before-context --context --threads --color"),
    _names("-e -A -B -C"),
    r"-[niwvEFPGlLcohHsqzaIr]+|-[ABC]?\d+",
    ("--no-textconv",),
)
_LS_FILES = Form(
    _names(
        """--cached --deleted --modified --others --ignored --stage --unmerged --exclude-standard
        --full-name --directory --error-unmatch --eol"""
    ),
    _names("--exclude --abbrev"),
    short=r"-[cdmosutvz]+",
)
_REV_PARSE = Form(
    _names(
        """--short --verify --quiet -q --abbrev-ref --symbolic-full-name --symbolic --show-toplevel
        --show-prefix --is-inside-work-tree --is-shallow-repository --all --branches --tags
        --remotes"""
    ),
    _names("--short --abbrev-ref"),
)
_MERGE_BASE = Form(_names("-a --all --octopus --independent --is-ancestor --fork-point"))
_ADD = Form(
    _names("-A -u -v -n -N --all --update --verbose --dry-run --intent-to-add --ignore-removal")
)
_COMMIT = Form(
    _names(
        """-a -q -n -s --all --quiet --no-verify --signoff --amend --no-edit --allow-empty --only
        --include"""
    ),
    _names("--message"),
    _names("-m -am -qm -aqm --message"),
    r"-a?q?m.+",
    needs=r"-a?q?m.*|--message(?:=.*)?|--no-edit",
)

FORMS = {
    "diff": _DIFF,
    "log": _LOG,
    "show": _LOG,
    "blame": _BLAME,
    "status": _STATUS,
    "grep": _GREP,
    "ls-files": _LS_FILES,
    "rev-parse": _REV_PARSE,
    "merge-base": _MERGE_BASE,
    "add": _ADD,
    "commit": _COMMIT,
}


def arguments(name: str, given: list[str], workspace: str, directory: str) -> list[str]:
    """What the command `name` is to be run with. Raises `Refused` with the word that it is not."""
    form, left = FORMS[name], list(given)
    if form.needs and not any(re.fullmatch(form.needs, word, re.DOTALL) for word in given):
        raise Refused("no -m")
    while left:
        word = left.pop(0)
        if word == "--":
            for path in left:
                _check_place(path, workspace, directory)
            break
        if not word.startswith("-"):
            _check_place(word, workspace, directory)
        elif word in form.apart:
            _check_value(word, left)
        elif not _is_admitted(form, word):
            raise Refused(word)
    return [*form.first, *given]


def _is_admitted(form: Form, word: str) -> bool:
    name, has_value, _ = word.partition("=")
    if word in form.flags or (has_value and name in form.valued):
        return True
    return re.fullmatch(form.short, word, re.DOTALL) is not None


def _check_value(option: str, left: list[str]) -> None:
    """One that looks like an option might be read as one."""
    if not left or left.pop(0).startswith("-"):
        raise Refused(f"{option} without a value")


def _check_place(word: str, workspace: str, directory: str) -> None:
    """A revision cannot be told from a path, and none leads outside when it is read as one."""
    if not is_within(os.path.normpath(os.path.join(directory, word)), workspace):
        raise Refused(word)


def is_within(path: str, place: str) -> bool:
    return os.path.commonpath((path, place)) == place
