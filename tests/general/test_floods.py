"""A soldier whose program prints without end: the disk does not fill up, and people hear of it."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.support.barracks import Barracks


def test_a_soldier_that_floods_is_ended_and_not_tried_again(barracks: Barracks) -> None:
    flood = "for n in $(seq 60); do head -c 1000000 /dev/zero; done; sleep 1000"
    barracks.command(f'echo "$KINGDOM_TASK_ID"; {flood}')
    path = Path(barracks.base.config, "system.yaml")
    settings = yaml.safe_load(path.read_text("utf-8"))
    settings["runtime"]["max_output_mb"] = 3
    path.write_text(yaml.safe_dump(settings), "utf-8")
    barracks.package(retry={"max_attempts": 3, "backoff_seconds": 0.05})
    (id_,) = barracks.publish()
    with barracks.general() as life:
        result = life.result_of(id_)
        assert (result["status"], result["error_code"]) == ("killed", "too_much_output")
        assert "3,145,728 bytes" in result["error"]
        assert result["metrics"]["attempts"] == 1
        life.until(lambda: not barracks.leftovers(), "nothing is left of it")
    (log,) = Path(barracks.base.session_logs).glob("*.json")
    assert log.stat().st_size < 1_100_000
    assert log.read_bytes().startswith(id_.encode())
    assert barracks.task(id_)[1]["status"] == "failed"
