"""Configuration: defaults, layers, where values come from, and how a wrong one is refused."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from kingdom.errors import ConfigurationError
from kingdom.models.schemas import config_files, schema_for
from kingdom.settings.loading import Settings, load_settings
from kingdom.settings.model import FILES
from kingdom.settings.rendering import render_yaml
from kingdom.settings.sentinel import Watchers
from kingdom.settings.system import Delivery
from kingdom.settings.yaml_file import read_document
from kingdom.topology import ROLES, STREAMS, WATCHERS

SHIPPED = Path(__file__).parents[2] / "config"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    directory = tmp_path / "config"
    (directory / "local").mkdir(parents=True)
    return directory


def load(config: Path, **environment: str) -> Settings:
    return load_settings(str(config), environment)


def sources(settings: Settings) -> dict[str, str]:
    return {value.key: value.source for value in settings.values() if value.source != "default"}


def refusal(config: Path, **environment: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load(config, **environment)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(str(config), "config")


# What is shipped


def test_the_shipped_files_are_what_the_models_generate() -> None:
    stale = [
        name
        for name, content in config_files().items()
        if not (SHIPPED / name).is_file() or (SHIPPED / name).read_text("utf-8") != content
    ]
    assert not stale, "run: python -m kingdom.ops.shipped"


def test_the_shipped_files_change_nothing() -> None:
    shipped = load(SHIPPED)
    assert not sources(shipped)
    for name, model in FILES.items():
        assert getattr(shipped, name) == model()


@pytest.mark.parametrize("name", FILES)
def test_a_shipped_file_names_its_schema_and_satisfies_it(name: str) -> None:
    text = (SHIPPED / f"{name}.yaml").read_text("utf-8")
    named = text.partition("\n")[0].removeprefix("# yaml-language-server: $schema=")
    schema = json.loads((SHIPPED / named).read_text("utf-8"))
    assert schema == schema_for(name)
    jsonschema.Draft202012Validator(schema).validate(yaml.safe_load(text))


@pytest.mark.parametrize("name", FILES)
def test_every_line_of_a_shipped_file_can_be_uncommented(name: str, config: Path) -> None:
    text = re.sub(r"(?m)^( *)#(?=\S|  )", r"\1", render_yaml(name))
    (config / f"{name}.yaml").write_text(text, "utf-8")
    settings = load(config)
    schema = jsonschema.Draft202012Validator(schema_for(name))
    content = yaml.safe_load(text)
    schema.validate({key: value for key, value in content.items() if key != "runtime"})
    set_now = {value.key for value in settings.values() if value.key.startswith(f"{name}.")}
    not_said = {f"system.delivery.{stream}" for stream in ("tasks", "messages", "results")}
    unset = set_now - set(sources(settings))
    assert {key for key in unset if not key.startswith(tuple(not_said))} <= {
        "system.git.depth",
        "system.group",
        "system.runtime.claude.model",
        "system.runtime.codex.model",
    }


def test_a_shipped_file_has_short_lines_and_explains_itself() -> None:
    for name in FILES:
        lines = render_yaml(name).splitlines()
        assert max(map(len, lines)) <= 100
        assert any("config/local" in line for line in lines)


def test_the_defaults_are_those_of_the_specification() -> None:
    settings = Settings()
    assert settings.chamberlain.retention.model_dump() == {
        "log_max_mb": 100,
        "logs_days": 7,
        "results_days": 7,
        "queue_days": 7,
        "prompts_days": 3,
        "session_logs_days": 7,
        "seen_days": 30,
        "dead_days": 30,
        "held_days": 30,
        "history_days": 400,
        "workspaces_days": 7,
        "kept_refs_days": 30,
        "clones_days": 30,
    }
    assert settings.system.delivery.events.backoff.model_dump() == {
        "base_seconds": 1,
        "max_seconds": 300,
        "multiplier": 2,
        "jitter": 0.2,
    }
    assert settings.system.bus == "files"
    assert settings.system.durability == "full"
    assert settings.king.polling.interval_seconds == ROLES["king"].poll_seconds == 10
    assert settings.envoy.polling.interval_seconds == 5
    assert settings.chamberlain.polling.interval_seconds == 30
    assert settings.chamberlain.heartbeat.threshold_seconds == 120
    assert settings.chamberlain.token_limits.warning_pct == 70
    assert settings.envoy.transport == "console"


def test_every_watcher_has_its_section_and_its_module() -> None:
    assert set(Watchers.model_fields) == set(WATCHERS)
    for name in WATCHERS:
        assert callable(import_module(f"kingdom.sentinel.watchers.{name}").make)


def test_every_stream_has_its_delivery_settings() -> None:
    assert set(Delivery.model_fields) == set(STREAMS)
    for stream in STREAMS:
        assert Settings().system.delivery.of(stream).max_crashes > 5


# Layers


def test_no_file_at_all_is_all_defaults(tmp_path: Path) -> None:
    assert load(tmp_path / "nowhere") == Settings()


def test_local_files_win_key_by_key_and_every_value_knows_its_source(config: Path) -> None:
    (config / "system.yaml").write_text(
        "timezone: Asia/Seoul\nlanguage: ko\ndelivery:\n  events:\n    max_attempts: 3\n"
    )
    (config / "local" / "system.yaml").write_text(
        "# mine\nlanguage: en\ndelivery:\n  events:\n    lease_seconds: 5\n"
    )
    settings = load(config, KINGDOM_BUS="postgresql://h/x")
    assert settings.system.timezone == "Asia/Seoul"
    assert settings.system.language == "en"
    assert settings.system.delivery.events.max_attempts == 3
    assert settings.system.delivery.events.lease_seconds == 5
    assert sources(settings) == {
        "system.timezone": "config/system.yaml:1",
        "system.language": "config/local/system.yaml:2",
        "system.bus": "environment KINGDOM_BUS",
        "system.delivery.events.max_attempts": "config/system.yaml:5",
        "system.delivery.events.lease_seconds": "config/local/system.yaml:5",
    }


def test_the_source_does_not_depend_on_how_the_directory_was_named(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (config / "king.yaml").write_text("concurrency: {max_soldiers: 9}\n")
    monkeypatch.chdir(config.parent)
    for spelling in ("config", "./config/", str(config)):
        found = sources(load_settings(spelling, {}))
        assert found == {"king.concurrency.max_soldiers": "config/king.yaml:1"}


def test_lists_are_replaced_not_joined(config: Path) -> None:
    (config / "envoy.yaml").write_text("slack:\n  allowed_users: [U0ADALOV, '@S0GROUPS']\n")
    (config / "local" / "envoy.yaml").write_text("slack:\n  allowed_users: ['@C0CHANNEL']\n")
    assert load(config).envoy.slack.allowed_users == ["C0CHANNEL"]


def test_the_owner_may_be_spelled_as_slack_shows_it(config: Path) -> None:
    (config / "envoy.yaml").write_text("slack: {owner: '@U0OWNER'}\n")
    assert load(config).envoy.slack.owner == "U0OWNER"


def test_a_section_with_only_comments_in_it_says_nothing(config: Path) -> None:
    (config / "system.yaml").write_text("delivery:\n  events:\n    max_attempts: 3\n")
    (config / "local" / "system.yaml").write_text("delivery:\n  # events:\nruntime:\n")
    assert load(config).system.delivery.events.max_attempts == 3


def test_a_value_set_to_nothing_returns_to_the_default(config: Path) -> None:
    (config / "system.yaml").write_text("timezone: Asia/Seoul\n")
    (config / "local" / "system.yaml").write_text("timezone:\n")
    settings = load(config)
    assert settings.system.timezone == "UTC"
    assert not sources(settings)


def test_a_watcher_is_on_when_named_and_off_when_not(config: Path) -> None:
    assert load(config).sentinel.polling.inbox is not None
    assert load(config).sentinel.polling.github is None
    (config / "sentinel.yaml").write_text("polling:\n  github:\n")
    polling = load(config).sentinel.polling
    assert polling.inbox is None
    assert polling.github is not None
    assert polling.github.token_env == "GH_TOKEN"
    assert polling.github.interval_seconds == 60


@pytest.mark.parametrize("content", ["", "\n\n", "# only a comment\n", "---\n", "\ufeff", "{}\n"])
def test_an_empty_file_is_fine(config: Path, content: str) -> None:
    (config / "system.yaml").write_text(content, "utf-8")
    assert load(config) == Settings()


def test_an_empty_variable_sets_nothing(config: Path) -> None:
    assert load(config, KINGDOM_BUS="").system.bus == "files"


def test_settings_do_not_change() -> None:
    with pytest.raises(Exception, match="frozen"):
        Settings().system.timezone = "Asia/Seoul"  # type: ignore[misc]


# Refusals


@pytest.mark.parametrize(
    ("file", "content", "complaint"),
    [
        (
            "system",
            "timezon: UTC",
            "config/system.yaml:1: `timezon` is not a setting. Did you mean",
        ),
        (
            "system",
            "\ndelivery:\n  events:\n    max_atempts: 3\n",
            "config/system.yaml:4: `delivery.events.max_atempts` is not a setting. "
            "Did you mean `max_attempts`?",
        ),
        ("king", "max_soldiers: 3", "Did you mean `concurrency.max_soldiers`?"),
        ("system", "max_soldiers: 3", "Did you mean `concurrency.max_soldiers` in king.yaml?"),
        (
            "system",
            "zzz: 1",
            "Known here: timezone, language, durability, bus, group, delivery, runtime, git, "
            "memory, progress, outbound.",
        ),
        (
            "local/king",
            "concurrency:\n  max_soldiers: 0\n",
            "config/local/king.yaml:2: `concurrency",
        ),
        ("king", "concurrency: {max_soldiers: true}", "must be a whole number, not true or false"),
        ("king", "concurrency: {max_soldiers: '3'}", "must be a whole number, not text"),
        ("king", "concurrency: {max_soldiers: 1.5}", "must be a whole number, not a number"),
        ("system", "delivery: 5", "config/system.yaml:1: `delivery`: must be an object"),
        ("system", "language: no", "`language`: False is not one of en, ko"),
        ("system", "language: fr", "`language`: 'fr' is not one of en, ko"),
        ("system", "timezone: Asia/Soul", "`timezone`: 'Asia/Soul' is not a time zone"),
        (
            "system",
            "git: {url: 'https://me@ghe.example.com/{repo}.git'}",
            "has a user or password in it. Take it out; the token belongs into the environment, "
            "see git.token_env. It means",
        ),
        (
            "system",
            "git: {url: 'ftp://x/{repo}'}",
            "`git.url`: 'ftp://x/{repo}' is not fetched: only https, http, ssh and files are "
            "known. It means",
        ),
        ("system", "git: {url: 'https://x/y.git'}", "`git.url`: it has no {repo} in it, as https"),
        ("system", "timezone: ../../etc/passwd", "is not a time zone"),
        ("system", "timezone: ''", "is not a time zone"),
        ("system", "timezone: 'a\\0b'", "is not a time zone"),
        (
            "sentinel",
            "polling:\n  jira:\n",
            "config/sentinel.yaml:2: `polling.jira.url`: is missing",
        ),
        (
            "sentinel",
            "polling:\n  github:\n    scope:\n      repos:\n        - a/b\n        - 3\n",
            "config/sentinel.yaml:6: `polling.github.scope.repos.1`: must be text",
        ),
        *(
            ("sentinel", f"polling: {{github: {{scope: {{repos: ['{glob}']}}}}}}", "owner/name")
            for glob in ("acme", "*", "acme/", "/web", "https://github.com/acme/web", "a /b", "")
        ),
        *(
            ("sentinel", f"trust: {{repos: ['{glob}']}}", "with the whole name of the owner")
            for glob in ("acme", "*/*", "acme*/web", "?cme/web", "acme/w\u0435b", "a/b/c", "")
        ),
        *(
            ("sentinel", f"trust: {{{key}: ['{name}']}}", "must be one name on GitHub")
            for key in ("people", "organisations")
            for name in ("*", "acme/web", "\u0430cme", "a b", "renovate[bot]", "")
        ),
        (
            "sentinel",
            "polling: {github: {scope: {filter_reasons: [mention, review_request]}}}",
            "`polling.github.scope.filter_reasons.1`: 'review_request' is no reason of GitHub's "
            "(did you mean review_requested?); there are approval_requested, assign, author, ",
        ),
        (
            "sentinel",
            "polling: {github: {scope: {filter_reasons: [Mention]}}}",
            "'Mention' is no reason of GitHub's (did you mean mention?)",
        ),
        (
            "sentinel",
            "polling: {github: {scope: {filter_reasons: [zzz]}}}",
            "'zzz' is no reason of GitHub's; there are approval_requested, ",
        ),
        *(
            ("sentinel", f"polling: {{{where}: '{url}'}}}}", "must be an address that begins with")
            for where in ("jira: {url", "github: {api_url")
            for url in (
                "acme.atlassian.net",
                "ftp://x",
                "https://",
                "https://a:b@c",
                "http://[",
                "",
            )
        ),
        ("chamberlain", "thresholds: {yellow: 95}", "yellow, orange and red must ascend"),
        ("chamberlain", "thresholds: {red: 79.9}", "yellow, orange and red must ascend"),
        (
            "chamberlain",
            "token_limits: {warning_pct: 90}",
            "warning_pct must be below critical_pct",
        ),
        ("chamberlain", "retention: {logs_days: 0}", "must be at least 1, not 0"),
        ("chamberlain", "retention: {logs_days: -.inf}", "must be a whole number"),
        ("system", "delivery: {events: {lease_seconds: 0}}", "must be more than 0, not 0"),
        ("system", "delivery: {events: {lease_seconds: .inf}}", "must be a finite number"),
        ("system", "delivery: {events: {lease_seconds: 1.0e+300}}", "must be at most"),
        ("chamberlain", "thresholds: {red: .nan}", "must be a finite number"),
        ("system", "a: 1\nb: 2\na: 3\n", "config/system.yaml:3: `a` is given twice"),
        ("system", "runtime: {engine: claude, engine: codex}", "`engine` is given twice"),
        ("system", "bus: [files", "config/system.yaml:1: it is not YAML"),
        ("system", "bus: files\n\tlanguage: en", "config/system.yaml:2: it is not YAML"),
        ("system", "- a\n- b\n", "config/system.yaml:1: a configuration file is a mapping"),
        ("system", "just text", "config/system.yaml:1: a configuration file is a mapping"),
        ("system", "1: 2", "config/system.yaml:1: a key must be plain text"),
        ("system", "[a, b]: 2", "config/system.yaml:1: a key must be plain text"),
        ("system", "true: 2", "config/system.yaml:1: a key must be plain text"),
        ("system", "bus: 2026-13-45", "config/system.yaml:1: month must be in 1..12"),
        ("system", "bus: !!python/object:os.system x", "config/system.yaml:1: it is not YAML"),
        ("system", "bus: &a files\nlanguage: *a\n", "anchors and aliases"),
        ("system", "bus: &a [*a]", "anchors and aliases"),
        ("system", "a: 1\n---\nb: 2\n", "config/system.yaml:2: it is not YAML"),
        ("system", "bus: \x01", "config/system.yaml: it is not YAML"),
        ("chamberlain", "cleanup: {at: 25:00}", 'in quotes, such as "03:00"'),
        ("chamberlain", "cleanup: {at: 3am}", 'must be a time of the day, such as "03:00"'),
        *(
            ("envoy", f"slack: {{allowed_users: ['{name}']}}", "must be an id, such as U012AB3CD")
            for name in ("#kingdom", "kingdom", "@ada", "", "U0", "D0DIRECT")
        ),
        ("envoy", "slack: {owner: '@ada'}", "must be a member id, such as U012AB3CD: in the"),
        ("envoy", "slack: {owner: S0GROUPS}", "must be a member id, such as U012AB3CD: in the"),
        ("system", "[" * 100_000, "config/system.yaml:1: it is nested too deeply"),
        ("system", "- " * 5_000, "config/system.yaml:1: it is nested too deeply"),
        ("system", "#" * 1_000_001, "config/system.yaml: it is larger than any configuration"),
    ],
)
def test_a_wrong_file_is_refused_with_file_line_key_and_remedy(
    config: Path, file: str, content: str, complaint: str
) -> None:
    if "/" in file:
        (config / "local").mkdir(exist_ok=True)
    (config / f"{file}.yaml").write_text(content, "utf-8")
    assert complaint in refusal(config)


def test_a_file_that_is_not_utf_8_is_refused_with_the_line(config: Path) -> None:
    (config / "king.yaml").write_bytes(b"# ok\nconcurrency: \xff\n")
    assert "config/king.yaml:2: it is not UTF-8" in refusal(config)


def test_a_directory_in_the_place_of_a_file_is_refused(config: Path) -> None:
    (config / "king.yaml").mkdir()
    assert "config/king.yaml: it cannot be read: Is a directory" in refusal(config)


def test_a_wrong_variable_is_refused_by_its_name(config: Path) -> None:
    assert "environment KINGDOM_BUS: `bus`: must be files" in refusal(
        config, KINGDOM_BUS="mysql://"
    )


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("system", "bus: mysql://me:hunter22@host/db"),
        ("sentinel", "polling: {github: {token_env: ghp_hunter22}}"),
        ("sentinel", "polling: {github: {token: hunter22}}"),
        ("sentinel", "polling: {jira: {url: 'https://ann:hunter22@acme.example'}}"),
        ("envoy", "slack: {bot_token_env: xoxb-hunter22}"),
    ],
)
def test_a_refusal_does_not_repeat_a_secret(config: Path, file: str, content: str) -> None:
    (config / f"{file}.yaml").write_text(content)
    assert "hunter22" not in refusal(config)


@given(st.binary(max_size=200) | st.text(alphabet="a:- \n\t[]{}&*!|>'\"#?,%@`\\0", max_size=60))
@hypothesis_settings(suppress_health_check=[HealthCheck.too_slow])
def test_no_content_whatsoever_causes_anything_but_a_refusal(content: bytes | str) -> None:
    data = content.encode() if isinstance(content, str) else content
    try:
        read_document(data, "f.yaml")
    except ConfigurationError as error:
        assert str(error).startswith("f.yaml")  # noqa: PT017 both outcomes are right
