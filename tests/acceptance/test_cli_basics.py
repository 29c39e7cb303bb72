"""What holds for every command: help, mistakes, exit codes, interruptions, bugs, start-up."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from kingdom import __version__
from kingdom.cli.table import COMMANDS
from kingdom.ops.init import init
from kingdom.store.paths import BaseDir
from tests.support.cli import COMMAND, ROOT, Said, environment, kingdom, one_sentence

COMMAND_WORDS = [
    *([name] for name in COMMANDS if name != "help"),
    *(["queue", v] for v in ("ls", "retry", "drop")),
]


@pytest.mark.parametrize(
    "words", [["version"], ["--version"], ["version", "--base-dir", "/nowhere"]]
)
def test_the_version_is_one_line(words: list[str]) -> None:
    said = kingdom(*words)
    assert (said.code, said.out, said.err) == (0, f"kingdom {__version__}\n", "")


@pytest.mark.parametrize("words", [[], ["help"], ["--help"], ["-h"], ["help", "help"]])
def test_the_overview_names_every_command(words: list[str]) -> None:
    said = kingdom(*words)
    assert said.code == 0
    for name, command in COMMANDS.items():
        assert f"  {name:<12}{command.summary}\n" in said.out


@pytest.mark.parametrize("words", COMMAND_WORDS, ids=" ".join)
def test_every_command_explains_itself(words: list[str]) -> None:
    said = kingdom(*words, "--help")
    assert said.code == 0
    assert "kingdom " + " ".join(words) in said.out
    assert said == kingdom("help", *words)


def test_help_has_examples_that_begin_with_the_command() -> None:
    for name in set(COMMANDS) - {"help", "queue"}:
        shown = kingdom(name, "--help").out.partition("examples:\n")[2]
        assert f"kingdom {name}" in shown, name


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["quueue"], "'quueue' is not a command. Did you mean: kingdom queue"),
        (["frobnicate"], "'frobnicate' is not a command. All commands: kingdom help"),
        (["help", "sned"], "'sned' is not a command. Did you mean: kingdom send"),
        (["queue", "list"], "queue: 'list' is not one of its verbs."),
        (["queue", "ls", "--jsn"], "queue ls: --jsn is not an option. Did you mean: --json"),
        (["queue", "ls", "task"], "queue ls: 'task' is not a stream. Did you mean: tasks"),
        (["queue", "ls", "--state", "done"], "queue ls: argument --state: invalid choice: 'done'"),
        (["queue", "show"], "queue show: the following arguments are required: ID."),
        (["queue", "show", "a", "b"], "queue show: 'b' is one argument too many."),
        (["--bas-dir", "x", "queue"], "--bas-dir is not an option that stands before a command."),
        (["--base-dir"], "--base-dir needs a directory."),
        (["queue", "--base-dir"], "queue: --base-dir needs a directory."),
        (["completion", "tcsh"], "completion: argument SHELL: invalid choice: 'tcsh'"),
        (["schema", "evnt"], "There is no schema 'evnt'. Did you mean: kingdom schema event"),
        (["restore", "x.tar.gz"], "restore: it does not say where to. Name a directory:"),
        (["queue", "ls"], "There is no kingdom in / or above it. Make one with: kingdom init DIR"),
        (["--base-dir", "/dev", "queue", "ls"], "/dev (from --base-dir) is not a kingdom:"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_sentence_with_a_remedy(words: list[str], sentence: str) -> None:
    assert one_sentence(kingdom(*words), 2).startswith(sentence)


def test_the_base_directory_is_found_in_four_ways(base: BaseDir) -> None:
    init(base)
    inside = base.path("queue", "events")
    words = ("queue", "ls")
    assert kingdom(*words, base=base).code == 0
    assert kingdom(*words, "--base-dir", base.root).code == 0
    assert kingdom("queue", "--base-dir", base.root, "ls").code == 0
    assert kingdom(*words, env={"KINGDOM_BASE_DIR": base.root}).code == 0
    assert kingdom(*words, cwd=inside).code == 0
    nearest = kingdom(*words, base=base, env={"KINGDOM_BASE_DIR": "/dev"})
    assert nearest.code == 0, "--base-dir comes before the variable"


def test_a_closed_pipe_is_no_reason_to_complain(base: BaseDir) -> None:
    init(base)
    for number in range(600):  # more than fits into a pipe
        Path(base.path("queue/events/pending", f"evt-{number:0150d}.json")).write_text("{}")
    shell = f'set -o pipefail; "{sys.executable}" -m kingdom queue ls | head -1'
    done = subprocess.run(
        ["bash", "-c", shell], capture_output=True, cwd=base.root, env=environment(), check=False
    )
    assert (done.returncode, done.stderr) == (141, b"")
    assert done.stdout.startswith(b"ID ")


def test_a_full_disk_behind_standard_output_is_one_sentence() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "help"], stdout=full, stderr=subprocess.PIPE, env=environment(), check=False
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"kingdom: No space left on device. Make room on the disk")


def test_ctrl_c_ends_quietly(base: BaseDir) -> None:
    """While it waits for standard input, as `send --file -` does."""
    init(base)
    words = [*COMMAND, "--base-dir", base.root, "send", "--file", "-"]
    end, beginning = os.pipe()
    running = subprocess.Popen(
        words, stdin=end, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    os.write(beginning, b"{")
    while waiting_in(end):
        assert running.poll() is None
        os.sched_yield()
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    os.close(end)
    os.close(beginning)
    assert (running.returncode, out, err) == (130, b"", b"")


def waiting_in(pipe: int) -> int:
    """Bytes nobody has read yet."""
    (count,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))
    return int(count)


def test_a_bug_is_one_sentence_and_its_traceback_is_in_the_log(base: BaseDir) -> None:
    init(base)
    said = broken("queue", "ls", "--base-dir", base.root)
    assert one_sentence(said, 1) == (
        "This is a bug in kingdom: ZeroDivisionError: division by zero. "
        f"Its traceback is in {base.system_log}."
    )
    (line,) = Path(base.system_log).read_text().splitlines()
    assert "[CLI] [operator] error: cli.crashed" in line
    assert "ZeroDivisionError" in line


def test_without_a_kingdom_a_bug_says_how_to_see_its_traceback() -> None:
    said = broken("queue", "ls")
    sentence = one_sentence(said, 1)
    assert sentence.endswith("Run it again with KINGDOM_TRACEBACK=1 to see where.")


def broken(*words: str) -> Said:
    """The program with a bug in it: its listing of streams divides by zero."""
    code = (
        "import sys; from kingdom.cli import queue_ls, main\n"
        "queue_ls._streams = lambda name: 1 / 0\n"
        f"sys.exit(main.run({list(words)!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd="/", env=environment(),
        check=False,
    )  # fmt: skip
    return Said(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("words", [["queue", "ls"], ["queue", "show", "evt-1"], ["help"]])
def test_looking_imports_nothing_heavy(base: BaseDir, words: list[str]) -> None:
    """Start-up time is the sum of what is imported; this holds on any machine."""
    init(base)
    Path(base.path("queue/events/pending/evt-1.json")).write_text('{"id": "evt-1"}')
    code = (
        "import sys; from kingdom.cli.main import run\n"
        f"run({words!r}); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=base.root,
        env=environment(), check=True,
    )  # fmt: skip
    loaded = set(done.stderr.split())
    heavy = {
        "pydantic",
        "pydantic_core",
        "yaml",
        "structlog",
        "click",
        "shutil",
        "tarfile",
        "zoneinfo",
    }
    assert not loaded & heavy
    ours = {name for name in loaded if name.startswith("kingdom.models.")}
    assert ours <= {"kingdom.models.ids", "kingdom.models.priority"}


def test_what_came_from_outside_cannot_steer_the_terminal(base: BaseDir) -> None:
    init(base)
    nasty = '{"id": "evt-1", "type": "a.b\\u001b[2J\\u009b\\u202e"}'
    Path(base.path("queue/events/pending/evt-1.json")).write_text(nasty)
    Path(base.path("queue/events/pending/evt-2.json")).write_bytes(b"\x1b]0;x\x07\xff\xc2\x9b")
    for words in (["ls"], ["ls", "--json"], ["show", "evt-1"], ["show", "evt-2"]):
        said = kingdom("queue", *words, base=base)
        assert said.code == 0
        assert all(c.isprintable() or c in "\n\t" for c in said.out), words


def test_a_terminal_without_korean_and_a_name_without_meaning_are_shown(base: BaseDir) -> None:
    init(base)
    Path(base.path("queue/events/pending/evt-1.json")).write_text('{"id": "evt-1", "x": "안녕"}')
    Path(os.fsdecode(os.fsencode(base.path("queue/events/dead/")) + b"evt-\xff.json")).touch()
    for words in (["show", "evt-1"], ["ls"], ["ls", "--json"]):
        said = kingdom(
            "queue", *words, base=base, command=COMMAND, env={"PYTHONIOENCODING": "ascii"}
        )
        assert said.code == 0
        assert said.out.isascii()


def test_a_listing_is_cut_to_the_terminal_and_to_nothing_else(base: BaseDir) -> None:
    init(base)
    Path(base.path("queue/events/pending", f"evt-{'x' * 150}.json")).write_text("{}")
    assert "damaged: the id inside is missing" in kingdom("queue", "ls", base=base).out
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    subprocess.run(
        [*COMMAND, "--base-dir", base.root, "queue", "ls"], stdout=follower, env=environment(),
        check=True,
    )  # fmt: skip
    shown = os.read(leader, 65536).decode()
    os.close(leader)
    os.close(follower)
    assert [len(line) for line in shown.splitlines()] == [80, 80]


def test_run_by_its_path_it_is_the_same_program() -> None:
    """As the launcher runs it: isolated, and not as a module."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "kingdom" / "__main__.py"), "version"],
        capture_output=True, text=True, env=environment(), check=True,
    )  # fmt: skip
    assert done.stdout == f"kingdom {__version__}\n"
