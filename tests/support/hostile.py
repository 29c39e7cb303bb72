"""Files that nobody should write and somebody will: each spoils a record in one way."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

_HERE = "@@"  # where a value goes that Python would not spell
_MANY = "1" + "0" * 5000

Spoil = Callable[[dict[str, Any]], bytes]


def _with(path: str, value: str | bytes) -> Spoil:
    """With this value, as it is spelled, in the field of this name."""

    def spoilt(record: dict[str, Any]) -> bytes:
        whole = json.loads(json.dumps(record))
        *outer, last = path.split(".")
        place = whole
        for name in outer:
            place = place.setdefault(name, {})
        place[last] = _HERE
        spelled = value if isinstance(value, bytes) else value.encode()
        return json.dumps(whole).encode().replace(f'"{_HERE}"'.encode(), spelled)

    return spoilt


def _ended_by(more: bytes) -> Spoil:
    return lambda record: json.dumps(record).encode()[:-1] + more


# These end in dead/, whatever record they are in.
REFUSED: Mapping[str, Spoil] = {
    "half-character": _with("trace_id", r'"\ud800"'),
    "half-in-a-key": _with("payload", r'{"a": [{"\udc80": 1}]}'),
    "half-in-bytes": _with("trace_id", b'"\xed\xa0\x80"'),
    "half-in-an-error": _with("delivery.last_error_message", r'"\ud800"'),
    "endless": _with("payload", '{"a": 1e999}'),
    "endless-in-digits": _with("payload", '{"a": -' + "9" * 400 + ".5}"),
    "not-a-number": _with("payload", '{"a": NaN}'),
    "many-digits": _with("payload", f'{{"a": {_MANY}}}'),
    "nested": _with("payload", '{"a": ' + "[" * 5000 + "]" * 5000 + "}"),
    "many-writes": _with("delivery.revision", "1" + "0" * 400),
    "below-zero": _with("delivery.attempt_count", "-1"),
    "no-such-year": _with("created_at", '"9999-12-31T23:59:59.999Z"'),
    "before-all-years": _with("created_at", '"0001-01-01T00:00:00+14:00"'),
    "trace-of-parts": _with("trace_id", "[1]"),
    "another-id": _ended_by(b', "id": "another", "task_id": "another"}'),
    "id-is-a-number": _ended_by(b', "id": 7, "task_id": 7}'),
    "nul-byte": _with("trace_id", b'"\0"'),
    "empty": lambda record: b"",
}
# These are odd, and handled like any other.
TAKEN: Mapping[str, Spoil] = {
    "nul": _with("trace_id", r'"a\u0000b"'),
    "controls": _with("payload", r'{"title": "\u001b[2J\r\n\u0000\u202e"}'),
    "long": _with("payload", '{"title": "' + "x" * 300_000 + '"}'),
    "deep": _with("payload", '{"title": ' + "[" * 150 + "]" * 150 + "}"),
    "large": _with("payload", '{"number": 1' + "0" * 400 + "}"),
    "twice": _with("payload", '{"title": 1, "title": "two"}'),
    "strange-holder": _with("delivery.locked_by", f'"king@here/boot/{_MANY}/1"'),
}
