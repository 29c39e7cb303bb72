"""What the outbound gate finds in a text, in whatever form, and what it leaves alone."""

from __future__ import annotations

import base64
import codecs
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from kingdom.outbound.credentials import Credentials
from kingdom.outbound.diffs import Diff
from kingdom.outbound.mentions import JOINER, without_calls_of_everybody, without_github_mentions
from kingdom.outbound.needles import Needles, is_searched_for
from kingdom.outbound.scan import Text, known_from, scan, sentence
from kingdom.settings.loading import load_settings
from kingdom.store.paths import BaseDir

ROOT = Path(__file__).parents[2]
SECRET = "planted-9fK2_mQ7pLz0+aB/c"
NEEDLES = Needles({"PLANTED": SECRET})
NONE = Needles({})
RAW = SECRET.encode()
FORMS = {
    "plain": SECRET,
    "capitals": SECRET.upper(),
    "reversed": SECRET[::-1],
    "spaces": " ".join(SECRET),
    "lines": "\n".join(SECRET[at : at + 4] for at in range(0, len(SECRET), 4)),
    "nothing to see": "\u200b".join(SECRET),
    "wide letters": "".join(chr(ord(c) + 0xFEE0) if c.isalnum() else c for c in SECRET),
    "in code": '"planted-9fK2" + \'_mQ7pLz0\' + "+aB/c"',
    "rot13": codecs.encode(SECRET, "rot13"),
    "url": quote(SECRET, safe=""),
    "all of it in a url": "".join(f"%{byte:02X}" for byte in RAW),
    "json": "".join(f"\\u{byte:04x}" for byte in RAW),
    "html": "".join(f"&#{byte};" for byte in RAW),
    "numbers": str(list(RAW)),
    "hex": RAW.hex(),
    "hex with colons": RAW.hex(":").upper(),
    "hex of c": "".join(f"\\x{byte:02x}" for byte in RAW),
    "hex in a list": ", ".join(f"0x{byte:02x}" for byte in RAW),
    "octal": "".join(f"\\{byte:03o}" for byte in RAW),
    "bits": " ".join(f"{byte:08b}" for byte in RAW),
    "base64 in lines": base64.encodebytes(b"x" * 50 + RAW).decode(),
    "base64, reversed before": base64.b64encode(RAW[::-1]).decode(),
    **{f"base64 after {n}": base64.b64encode(b"x" * n + RAW + b"yy").decode() for n in range(3)},
    **{f"url-safe {n}": base64.urlsafe_b64encode(b"\xff" * n + RAW).decode() for n in range(3)},
    **{f"base32 after {n}": base64.b32encode(b"x" * n + RAW + b"y").decode() for n in range(5)},
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_known_secret_is_found_in_every_form_and_never_told(form: str) -> None:
    (found, *_) = scan([Text("content", f"One line.\nIt is: {form}, so.")], NEEDLES, "member")
    assert found.kind.startswith("the value of PLANTED")
    assert found.spot == "content, line 2"
    assert SECRET not in str(found)


def test_a_secret_that_is_split_between_two_files_is_found() -> None:
    texts = [Text("a", "one\ntwo"), Text("b", f"x\n{SECRET[:9]}"), Text("c", SECRET[9:])]
    (found,) = scan(texts, NEEDLES, "member")
    assert found.spot == "b, line 2"


def test_what_is_no_secret_of_ours_is_not_found() -> None:
    text = ROOT.joinpath("README.md").read_text()
    assert scan([Text("content", text)], NEEDLES, "member") == []
    for ordinary in ("production", "12345678", "/home/ada/key", "ada@example.com", "short-1"):
        assert not is_searched_for(ordinary)


# Each in two pieces, so that no scanner takes this file for a leak.
TOKENS = {
    "an AWS access key": "AKIA" + "QX7RZ2M4WJK9TB5L",
    "a GitHub token": "ghp_" + "kR8vTq2ZxWm5NcJ7LpYb3HsDfGa9Ue4iOo6K",
    "a GitLab token": "glpat-" + "k8RvTq2ZxWm5NcJ7LpYb",
    "a Slack token": "xoxb-" + "264918305572-kR8vTq2ZxWm5NcJ7LpYb",
    "an Anthropic key": "sk-ant-" + "api03-kR8vTq2ZxWm5NcJ7LpYb3HsDf",
    "an OpenAI key": "sk-" + "proj-kR8vTq2ZxWm5NcJ7LpYb3HsDfGa9Ue4iOo6K",
    "a Google key": "AIza" + "kR8vTq2ZxWm5NcJ7LpYb3HsDfGa9Ue4iOo6",
    "a Stripe key": "sk_live_" + "kR8vTq2ZxWm5NcJ7LpYb3HsD",
    "an npm token": "npm_" + "kR8vTq2ZxWm5NcJ7LpYb3HsDfGa9Ue4iOo6K",
    "a PyPI token": "pypi-" + "AgEIcHlwaS" + "kR8vTq2ZxWm5NcJ7LpYb3HsDfGa9Ue4iOo6KkR8vTq2Z",
    "a JSON Web Token": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiI3NzM5In0.kR8vTq2ZxWm5NcJ7LpYb",
    "a private key": "-----BEGIN OPENSSH PRIVATE " + "KEY-----\n" + "b3BlbnNzaC1rZXktdjEAAAAA" * 4,
    "a password in an address": "postgres://app:" + "kR8vTq2ZxW" + "@db.internal/app",
    "a password": "password = '" + "kR8v-Tq2Zx!Wm5Nc" + "'",
}


@pytest.mark.parametrize(("kind", "token"), TOKENS.items(), ids=TOKENS)
def test_a_token_of_a_known_form_is_found(kind: str, token: str) -> None:
    (found,) = scan([Text("body", f"Use this:\n{token}\n")], NONE, "member")
    assert str(found) == f"{kind} in body, line 2"
    split = token[:9] + "\u200b" + token[9:]
    assert scan([Text("body", split)], NONE, "member"), "also with something invisible in it"


@pytest.mark.parametrize(
    "text",
    [
        "token: ghp_" + "x" * 36,
        "ghp_EXAMPLE" + "kR8vTq2ZxWm5NcJ7LpYb3HsDfGa9U",
        'password = "correct-horse-battery"',
        "password = os.environ['DATABASE_PASSWORD_OF_PROD']",
        "postgres://user:password@localhost/db",
        "https://github.com/acme/web/pull/7#discussion_r1234567890",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "-----BEGIN " + "PRIVATE KEY----- is how one begins",
    ],
)
def test_what_only_looks_like_a_token_passes(text: str) -> None:
    assert scan([Text("body", text)], NONE, "member") == []


RANDOM = "kR8vTq2ZxWm5NcJ7LpYb3HsDfGa9Ue4i"


def test_a_random_string_is_held_only_if_it_is_new_and_the_work_is_not_a_member_s() -> None:
    texts = [Text("body", f"see {RANDOM}")]
    for trust in ("outside", "fork", "bot"):
        (found,) = scan(texts, NONE, trust)
        assert str(found) == "a string of 32 characters that looks random in body"
    assert scan(texts, NONE, "member") == []
    assert scan(texts, NONE, "outside", known_from(f"what about {RANDOM}?")) == []


@pytest.mark.parametrize(
    "text",
    [
        "3f786850e387550fdab836ed7e6dc881de23001b",
        "sha256:" + "ab12cd34" * 8,
        'integrity="sha512-' + base64.b64encode(bytes(range(64))).decode() + '"',
        "h1:" + base64.b64encode(bytes(range(32))).decode(),
        "0b6a3d4e-9c1f-4f0a-8a52-6f0d3a9f1c11",
        "TheLongestNameOfAClassThatAnybodyEverWrote2",
        "kingdom/general/checkouts/test_repositories_push.py",
        "abcdefghijklmnopqrstuvwxyz0123456789",
        "1234567890123456789012345678",
    ],
)
def test_digests_names_and_paths_are_not_random(text: str) -> None:
    assert scan([Text("body", text)], NONE, "outside") == []


def test_a_random_string_hides_neither_behind_a_long_name_nor_among_many_known_ones() -> None:
    assert scan([Text("body", "averylongname" * 30 + RANDOM * 4)], NONE, "outside")
    uuid = "0b6a3d4e-9c1f-4f0a-8a52-6f0d3a9f1c11"
    assert scan([Text("body", f"{uuid}-{RANDOM}")], NONE, "outside")
    chance = random.Random(3)
    many = [base64.b32encode(chance.randbytes(20)).decode() for _ in range(1200)]
    given = known_from(" ".join(many))
    assert scan([Text("body", " ".join(many[:900]))], NONE, "outside", given) == []
    assert scan([Text("body", " ".join([*many[:900], RANDOM]))], NONE, "outside", given)
    assert scan([Text("body", " ".join(many))], NONE, "outside", given), "too many to compare"


def test_of_random_strings_nine_in_ten_are_found() -> None:
    chance = random.Random(7)
    made = [base64.b64encode(chance.randbytes(24)).decode() for _ in range(500)]
    found = [one for one in made if scan([Text("body", f"x = '{one}'")], NONE, "outside")]
    assert len(found) > 450


# Diffs

LOG = f"""diff --git a/old.py b/new.py
rename from old.py
rename to new.py
--- a/old.py
+++ b/new.py
@@ -3,3 +3,4 @@ def f():
 same
-gone = "{RANDOM}"
+kept = "{RANDOM}"
+more = "x"
 end
diff --git a/package-lock.json b/package-lock.json
new file mode 100644
--- /dev/null
+++ b/package-lock.json
@@ -0,0 +1 @@
+{RANDOM[::-1]}
diff --cc merged.txt
index 1,2..3
--- a/merged.txt
+++ b/merged.txt
@@@ -1,1 -1,1 +1,2 @@@
  both
++{SECRET}
"""


def test_of_a_diff_what_is_added_is_scanned_with_its_file_and_line() -> None:
    diff = Diff(LOG)
    texts = {one.place: one for one in diff.texts}
    assert texts["new.py"].lines == (4, 5)
    assert texts["the names of files"].text == "new.py\npackage-lock.json\nmerged.txt"
    found = scan(diff.texts, NEEDLES, "outside", known_from(diff.old))
    assert [str(one) for one in found] == ["the value of PLANTED in merged.txt, line 2"]


def test_a_file_whose_name_is_a_secret_is_not_named() -> None:
    log = f"diff --git a/x b/x\n--- /dev/null\n+++ b/{quote(SECRET)}\n@@ -0,0 +1 @@\n+{SECRET}\n"
    told = sentence(scan(Diff(log).texts, NEEDLES, "member"))
    assert "one of the files" in told
    assert scan([Text("told", told)], NEEDLES, "member") == []


def ordinary_diffs(count: int) -> Iterator[tuple[Text, str]]:
    """Pieces of this project's own files, as if they had just been added to the rest."""
    chance = random.Random(500)
    kinds = {".py", ".md", ".yaml", ".json", ".toml", ".sh"}
    files = [
        path
        for place in ("kingdom", "docs", "config", "tests")
        for path in sorted(ROOT.joinpath(place).rglob("*"))
        if path.suffix in kinds and "outbound" not in path.name
    ]
    for path in chance.choices(files, k=count):
        lines = path.read_text("utf-8", "replace").split("\n")
        size = chance.randint(10, 120)
        start = chance.randint(0, max(len(lines) - size, 0))
        piece, rest = lines[start : start + size], lines[:start] + lines[start + size :]
        yield Text(str(path), "\n".join(piece)), "\n".join(rest)


def test_at_most_one_in_a_hundred_ordinary_diffs_is_held() -> None:
    held = [
        sentence(found)
        for text, rest in ordinary_diffs(500)
        if (found := scan([text], NEEDLES, "outside", known_from(rest)))
    ]
    assert len(held) <= 5, held


@pytest.mark.parametrize(
    "piece",
    ["a", "A1", "eyJ", "-----BEGIN ", "://", "password=", "xoxb-", "sk-", "\u200b", " \n", "://a:"],
)
def test_hostile_texts_take_no_longer_than_others(piece: str) -> None:
    """A form that tried everything would not end here."""
    scan([Text("body", piece * (400_000 // len(piece)))], NEEDLES, "outside")


def test_what_is_too_large_to_be_scanned_does_not_leave() -> None:
    (found,) = scan([Text("body", "a " * (17 << 20))], NONE, "member")
    assert found.kind == "more than can be scanned"


# Known credentials


def test_the_kingdom_knows_its_variables_and_the_logins_on_the_machine(
    base: BaseDir, tmp_path: Path
) -> None:
    login = tmp_path / ".codex" / "auth.json"
    login.parent.mkdir()
    login.write_text(json.dumps({"tokens": {"access_token": "login-7hQ2xVbN8sLd"}}))
    Path(base.config).mkdir(parents=True, exist_ok=True)
    Path(base.config, "system.yaml").write_text("outbound: {secret_env: [DEPLOY_CODE]}\n")
    environment = {
        "HOME": str(tmp_path),
        "SLACK_BOT_TOKEN": "planted-slack-4711",
        "DEPLOY_CODE": "planted-deploy-0815",
        "KINGDOM_BUS": "postgresql://kingdom:planted-bus-2342@db/kingdom",
        "JIRA_USER_EMAIL": "ada@example.com",
        "EDITOR": "planted-editor-1234",
    }
    settings = load_settings(base.config, environment)
    credentials = Credentials(environment)

    def found(text: str) -> str:
        return ", ".join(
            one.kind for one in scan([Text("", text)], credentials.needles(settings), "member")
        )

    assert found("planted-slack-4711") == "the value of SLACK_BOT_TOKEN"
    assert found("planted-deploy-0815") == "the value of DEPLOY_CODE"
    assert found("planted-bus-2342") == "the value of KINGDOM_BUS"
    assert found("login-7hQ2xVbN8sLd") == "the value of ~/.codex/auth.json, 1"
    assert found("ada@example.com planted-editor-1234 postgresql://kingdom") == ""
    login.write_text(json.dumps({"tokens": {"access_token": "login-another-1x9"}}))
    os.utime(login, (1, 1))
    assert found("login-another-1x9")
    credentials.learn("the GitHub login", "planted-gh-991177")
    assert found("planted-gh-991177") == "the value of the GitHub login"


# Mentions


def test_nobody_is_called_by_what_others_wrote() -> None:
    assert "@here" not in without_calls_of_everybody("Hey @here, @Channel and @everyone!")
    assert without_calls_of_everybody("mail ada@example.com") == "mail ada@example.com"


@pytest.mark.parametrize(
    ("text", "quiet"),
    [
        ("ask @ada and @acme/core.", "ask @|ada and @|acme/core."),
        ("(@ada-l) .@ada -@ada /@ada @@ada", "(@|ada-l) .@|ada -@|ada /@|ada @|@|ada"),
        ("_@ada_ **@ada** \u00e9@ada", "_@|ada_ **@|ada** \u00e9@|ada"),
        ("&#64;ada &#x0040;ada &commat;ada @&#97;da", "@|ada @|ada @|ada @|&#97;da"),
        ("\\@ada @ ada", "\\@|ada @| ada"),
        ("mail ada@example.com", "mail ada@example.com"),
        ("see https://x.example/@scope/a", "see https://x.example/%40scope/a"),
        # What only looks like code
        ("`@ada` and a ` b @ada", "`@|ada` and a ` b @|ada"),
        ("`a\n` @ada `", "`a\n` @|ada `"),
        ("``` a`b\n@ada", "``` a`b\n@|ada"),
        ("- a\n  ```\n@ada", "- a\n  ```\n@|ada"),
        ("   ```\n```\n@ada", "   ```\n```\n@|ada"),
        ("<div>\n```\n@ada", "<div>\n```\n@|ada"),
        ("~~~\n```\n~~~\n@ada", "~~~\n```\n~~~\n@|ada"),
        ("````\n```\n@code\n````\n@ada", "````\n```\n@code\n````\n@|ada"),
        ("```\n    ```\n@code\n   ```\n@ada", "```\n    ```\n@code\n   ```\n@|ada"),
        # What is
        ("```\n<a>\n  ```js\n@code\n```\n@ada", "```\n<a>\n  ```js\n@code\n```\n@|ada"),
        ("```py @ada\n@decorated\n``` \n@ada", "```py @|ada\n@decorated\n``` \n@|ada"),
        ("```\n@decorated\n``` more\n@code", "```\n@decorated\n``` more\n@code"),
    ],
)
def test_on_github_nobody_is_called(text: str, quiet: str) -> None:
    assert without_github_mentions(text) == quiet.replace("|", JOINER)
