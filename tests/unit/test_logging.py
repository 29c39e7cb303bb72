"""Logs: one form for people, one for machines, one for `system.log`; and never a secret."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from kingdom.runtime.logging import configure, get_logger
from kingdom.runtime.secrets import MASK, SHAPES, Masker
from kingdom.store.paths import BaseDir


@pytest.fixture(autouse=True)
def _leave_logging_as_it_was() -> Iterator[None]:
    yield
    structlog.reset_defaults()


class FixedClock:
    def now(self) -> datetime:
        return datetime(2026, 2, 7, 10, tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class ClosedPipe(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


@pytest.fixture
def base(tmp_path: Path) -> BaseDir:
    (tmp_path / "logs").mkdir()
    return BaseDir(tmp_path)


def logging_to(stream: Any, base: BaseDir, role: str = "king", **environment: str) -> Any:
    configure(role, base, environment=environment, stream=stream, clock=FixedClock())
    return get_logger(task_id="task-20260207-001")


def system_log(base: BaseDir) -> str:
    return Path(base.system_log).read_text("utf-8")


def everything_written(base: BaseDir, say: Any, **environment: str) -> str:
    """What the three forms together show of one call."""
    shown = ""
    for stream in (io.StringIO(), Terminal()):
        say(logging_to(stream, base, **environment))
        shown += stream.getvalue()
    return shown + system_log(base)


# Forms


def test_a_machine_gets_one_json_object_per_line(base: BaseDir) -> None:
    stream = io.StringIO()
    logging_to(stream, base).info("task.claimed", general="gen-pr", note="두\n줄")
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line) == {
        "time": "2026-02-07T10:00:00.000Z",
        "level": "info",
        "role": "king",
        "event": "task.claimed",
        "task_id": "task-20260207-001",
        "general": "gen-pr",
        "note": "두\n줄",
    }
    assert "두" in line


def test_a_person_on_a_terminal_gets_readable_text(base: BaseDir) -> None:
    stream = Terminal()
    logging_to(stream, base, NO_COLOR="1").warning("task.claimed", general="gen-pr")
    assert "task.claimed" in stream.getvalue()
    assert "general=gen-pr" in stream.getvalue()
    assert not stream.getvalue().startswith("{")
    assert "\x1b" not in stream.getvalue()


@pytest.mark.parametrize(
    ("event", "category"),
    [
        ("task.claimed", "TASK"),
        ("event.detected", "EVENT"),
        ("Emitted something", "EMITTED"),
        ("", "SYSTEM"),
        ("...", "SYSTEM"),
    ],
)
def test_system_log_has_the_text_form_of_the_seed(base: BaseDir, event: str, category: str) -> None:
    logging_to(io.StringIO(), base, role="gen-pr").info(event, n=1)
    expected = f"[2026-02-07T10:00:00.000Z] [{category}] [gen-pr] {event} task_id=task-20260207-001"
    assert system_log(base) == f"{expected} n=1\n"


@pytest.mark.parametrize(
    "text", ["a\nb", "a\r\nb", "a\u2028b", "a\x85b", "a\x1b[2Jb", "a\0b", "a\u202eb", "a\ud800b"]
)
def test_whatever_is_logged_stays_on_one_line_and_steers_no_terminal(
    base: BaseDir, text: str
) -> None:
    stream = Terminal()
    log = logging_to(stream, base, NO_COLOR="1")
    log.info(text)
    log.info("task.claimed", title=text, **{text: 1})
    assert len(system_log(base).splitlines()) == 2
    assert not set(stream.getvalue() + system_log(base)) & set("\x1b\0\u202e\x85\u2028")


def test_a_traceback_goes_to_the_log_on_one_line(base: BaseDir) -> None:
    stream = io.StringIO()
    log = logging_to(stream, base)
    try:
        raise KeyError("gone")
    except KeyError:
        log.exception("task.failed")
    (line,) = system_log(base).splitlines()
    assert "error: task.failed" in line
    assert "KeyError: 'gone'" in line
    assert "KeyError: 'gone'" in json.loads(stream.getvalue())["exception"]


def test_debug_is_quiet_unless_asked_for(base: BaseDir) -> None:
    stream = io.StringIO()
    logging_to(stream, base).debug("task.looked")
    assert stream.getvalue() == ""
    configure("king", base, environment={}, stream=stream, level="debug")
    get_logger().debug("task.looked")
    assert "task.looked" in stream.getvalue()


def test_what_cannot_be_put_into_json_is_shown_as_text(base: BaseDir) -> None:
    stream = io.StringIO()
    endless: list[Any] = []
    endless.append(endless)
    logging_to(stream, base).info(
        "task.claimed", where=Path("/x"), raw=b"\xff", many={1, 2}, odd={3: "x"}, endless=endless
    )
    shown = json.loads(stream.getvalue())
    assert "/x" in shown["where"]
    assert shown["many"] == [1, 2]
    assert shown["odd"] == {"3": "x"}


# A log that cannot be written stops nobody


def test_an_unwritable_system_log_is_said_on_the_console(base: BaseDir) -> None:
    os.mkdir(base.system_log)
    stream = io.StringIO()
    logging_to(stream, base).info("task.claimed")
    assert json.loads(stream.getvalue())["system_log"] == "not written: Is a directory"


def test_a_missing_logs_directory_stops_nobody(tmp_path: Path) -> None:
    stream = io.StringIO()
    logging_to(stream, BaseDir(tmp_path)).info("task.claimed")
    assert "task.claimed" in stream.getvalue()


def test_a_closed_terminal_stops_nobody(base: BaseDir) -> None:
    logging_to(ClosedPipe(), base).info("task.claimed")
    gone = io.StringIO()
    log = logging_to(gone, base)
    gone.close()
    log.info("task.claimed")
    assert len(system_log(base).splitlines()) == 2


# Secrets

SECRET = "hunter2-correct+horse/battery=="
FAKES = {
    "github": "ghp_" + "A1b2" * 9,
    "github app": "ghs_" + "A1b2" * 9,
    "github fine-grained": "github_pat_" + "A1b2_" * 8,
    "slack bot": "xoxb-" + "123456789012-abcdefABCDEF",
    "slack app": "xapp-" + "1-A012345-6789-abcdef",
    "anthropic": "sk-ant-" + "api03-abcdef_GHIJKL-mnop",
    "openai": "sk-" + "proj-abcdefGHIJKLmnop1234",
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "jira": "ATATT" + "3xFfGF0abcdefghij=ABCD",
    "jwt": "eyJ" + "hbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2",
}


@pytest.mark.parametrize("name", FAKES)
def test_a_token_of_a_known_shape_never_appears(base: BaseDir, name: str) -> None:
    fake = FAKES[name]

    def say(log: Any) -> None:
        log.info(f"task.claimed with {fake}", key=fake, **{fake: 1})
        log.bind(bound=fake).warning("x", nested=[{"a": (fake, {"b": {fake}})}], raw=fake.encode())
        log.info("formatted %s", fake)
        try:
            try:
                raise ValueError(fake)
            except ValueError as cause:
                raise RuntimeError(f"while using {fake}") from cause
        except RuntimeError as error:
            log.exception("task.failed", error=error)

    shown = everything_written(base, say)
    assert fake not in shown
    assert fake[-12:] not in shown
    assert MASK in shown


def test_the_value_of_a_secret_variable_never_appears_in_any_spelling(base: BaseDir) -> None:
    class Client:
        def __repr__(self) -> str:
            return f"Client({SECRET!r})"

    def say(log: Any) -> None:
        log.info(SECRET, key=f"a{SECRET}b", client=Client())
        log.info("url", url="https://x.test/?q=hunter2-correct%2Bhorse%2Fbattery%3D%3D")

    shown = everything_written(base, say, MY_API_KEY=SECRET)
    assert "hunter2" not in shown
    assert "battery" not in shown


@pytest.mark.parametrize(
    "name",
    [
        "GH_TOKEN",
        "JIRA_API_TOKEN",
        "CLIENT_SECRET",
        "PGPASSWORD",
        "MYSQL_PWD",
        "OPENAI_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "github_token",
        "SSH_PASSPHRASE",
    ],
)
def test_variables_whose_name_sounds_secret_are_hidden(name: str) -> None:
    assert Masker({name: "s3cr3tvalue"}).text("x s3cr3tvalue y") == f"x {MASK} y"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HOME", "/home/someone"),
        ("SSH_AUTH_SOCK", "/tmp/agent.1"),
        ("TOKEN_FILE", "/run/secrets/token"),
        ("MAX_OUTPUT_TOKENS", "128000"),
        ("MY_TOKEN", "1"),
        ("MY_TOKEN", ""),
        ("BOT_TOKEN_ENV", "SLACK_BOT_TOKEN"),
    ],
)
def test_what_is_no_secret_stays_readable(name: str, value: str) -> None:
    text = f"using {value} now"
    assert Masker({name: value}).text(text) == text


def test_a_variable_named_in_the_configuration_is_secret_whatever_its_name(base: BaseDir) -> None:
    stream = io.StringIO()
    environment = {"CI_BOT": "plain-looking-value"}
    configure("king", base, environment=environment, stream=stream, secret_variables=["CI_BOT"])
    get_logger().info("task.claimed", value="plain-looking-value")
    assert "plain-looking-value" not in stream.getvalue() + system_log(base)


@pytest.mark.parametrize(
    ("text", "hidden", "kept"),
    [
        ("git clone https://me:pa55@host.test/x.git", "pa55", "@host.test/x.git"),
        ("postgresql://me:p@55:w0rd@db.test/kingdom", "w0rd", "@db.test/kingdom"),
        ("https://0123456789abcdef0123@host.test/x", "0123456789abcdef", "@host.test"),
        ("Authorization: Bearer abc.def-ghi", "abc.def", "Authorization: Bearer"),
        ("authorization: basic dXNlcjpwYXNz", "dXNlcjpwYXNz", "basic"),
        ("{'Authorization': 'token abcdef'}", "abcdef", "Authorization"),
        ("GET /x?access_token=abc123&page=2", "abc123", "page=2"),
        ("https://hooks.slack.com/services/T0/B0/xyz", "xyz", "hooks.slack.com"),
        (
            "key -----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd\n-----END RSA PRIVATE KEY----- end",
            "MIIE",
            "end",
        ),
        ("key -----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl cut short", "b3Bl", "key"),
    ],
)
def test_credentials_inside_a_text_are_hidden_and_the_rest_stays(
    text: str, hidden: str, kept: str
) -> None:
    masked = Masker({}).text(text)
    assert hidden not in masked
    assert kept in masked


@pytest.mark.parametrize(
    "text",
    [
        "task-20260207-001 msg-20260207-0001234567890123",
        "evt-github-12345678-20260207100000",
        "ssh://git@github.com/acme/frontend",
        "https://github.com/acme/frontend/pull/7",
        "http://localhost:8080/@scope/package",
        "risk-assessment-of-a-long-name",
    ],
)
def test_ordinary_words_stay_readable(text: str) -> None:
    assert Masker({}).text(text) == text


def test_a_key_that_sounds_secret_hides_its_value_and_a_count_stays() -> None:
    masked = Masker({}).value(
        {"password": "x", "bot_token": "y", "tokens": 5, "token_status": "ok", "api-key": b"z"}
    )
    assert masked == {
        "password": MASK,
        "bot_token": MASK,
        "tokens": 5,
        "token_status": "ok",
        "api-key": MASK,
    }


@given(
    secret=st.text(alphabet="aB0-_/+=%'\"\\$^(.\n가", min_size=6).filter(
        lambda text: len(text.strip()) >= 6 and not text.startswith("/")
    ),
    before=st.text(alphabet="xyz &"),
    after=st.text(alphabet="xyz &"),
)
def test_no_secret_survives_wherever_it_stands(secret: str, before: str, after: str) -> None:
    masked = Masker({"X_TOKEN": secret}).text(before + secret + after)
    assert secret.strip() not in masked


# Cost


def test_nothing_but_logging_imports_structlog() -> None:
    code = (
        "import sys, kingdom.runtime.internal_log, kingdom.models.schemas, "
        "kingdom.settings.loading, kingdom.runtime.secrets; "
        "sys.exit('structlog' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == 0


def test_ids_and_the_topology_need_no_pydantic() -> None:
    code = "import sys, kingdom.models.ids, kingdom.topology; sys.exit('pydantic' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == 0


FRAGMENTS = (
    *("-----BEGIN RSA PRIVATE KEY-----", "https://", "u:p@h", "Authorization: token ", "bearer "),
    *("?token=", "ghp_", "github_pat_", "glpat-", "xoxb-", "xapp-", "sk-", "ATATT", "AKIA"),
    *("AIza", "eyJ", "abcdefghij" * 4, "A1B2C3D4E5F6G7H8", ".abcd.efgh", " ", "_", "x"),
)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=6))
def test_the_quick_look_passes_over_nothing_that_a_shape_would_hide(parts: list[str]) -> None:
    text = "".join(parts)
    hidden = text
    for shape in SHAPES:
        hidden = re.sub(shape, rf"\1{MASK}", hidden)
    assert Masker({}).text(text) == hidden
