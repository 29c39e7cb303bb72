"""A file put together from entries spelled one by one reads as if it had been written at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from kingdom.store.state import spelled, write_json, write_spelled


@pytest.mark.parametrize(
    "content",
    [{}, {"a": {"b": [1, {"c": None}], "ü\n": "\ud800"}}, {"a": {}, "b": [], "c": "x"}],
)
def test_it_is_the_same_file(tmp_path: Path, content: dict[str, object]) -> None:
    write_json(str(tmp_path / "whole"), content, sync=False)
    entries = (spelled(key, value) for key, value in content.items())
    write_spelled(str(tmp_path / "joined"), entries, sync=False)
    assert (tmp_path / "joined").read_bytes() == (tmp_path / "whole").read_bytes()
