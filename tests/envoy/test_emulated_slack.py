"""Against the Slack that `emulate` offers: its Web API, made by others. It has no Socket Mode, and
does not say of a thread when someone last replied."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from kingdom.store.paths import BaseDir
from tests.support.emulated_github import started
from tests.support.envoy import TASK, Life, publish, question, start
from tests.support.kingdom import MovableClock, files, load

KINGDOM, ADA = "xoxb-kingdom", "xoxp-ada"
SEED = {
    "tokens": {token: {"login": name} for token, name in ((KINGDOM, "kingdom"), (ADA, "ada"))},
    "slack": {
        "team": {"name": "Acme", "domain": "acme"},
        "users": [{"name": "kingdom"}, {"name": "ada"}],
        "channels": [{"name": "work"}],
    },
}


class Emulated:
    def __init__(self, url: str) -> None:
        self.url = f"{url}/api/"

    def ask(self, method: str, token: str = ADA, **given: Any) -> Any:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        with urlopen(Request(self.url + method, json.dumps(given).encode(), headers)) as answer:
            told = json.load(answer)
        assert told["ok"], told
        return told


def test_a_question_is_asked_and_answered_and_work_is_given(
    base: BaseDir, scratch: Path, live: Callable[..., Life], clock: MovableClock
) -> None:
    with started(scratch, "slack", SEED) as url:
        slack = Emulated(url)
        me, ada = (slack.ask("auth.test", token)["user_id"] for token in (KINGDOM, ADA))
        path = Path(base.config, "envoy.yaml")
        path.parent.mkdir(parents=True)
        Path(base.config, "system.yaml").touch()
        given = {"api_url": slack.url, "default_channel": "#work", "owner": ada}
        path.write_text(json.dumps({"transport": "slack", "slack": given}))
        publish(base, start(1), question(2, options=["main", "next"]))
        life = live(environment={"SLACK_BOT_TOKEN": KINGDOM})
        life.go()
        sent = load(base, "messages/sent", "msg-20260207-001")
        channel, thread = sent["channel"], sent["thread_ts"]
        slack.ask("chat.postMessage", channel=channel, thread_ts=thread, text="2")
        slack.ask("chat.postMessage", channel=channel, text=f"<@{me}> look at this")
        for _ in range(2):
            clock.advance(30)
            life.go()
        said = slack.ask("conversations.replies", channel=channel, ts=thread)["messages"]
        life.end()
    answer, mention = sorted(files(base)["events/pending"], reverse=True)
    assert answer.startswith(f"evt-slack-response-{TASK}-")
    payload = load(base, "events/pending", answer)["payload"]
    assert (payload["text"], payload["answered_by"]) == ("next", "ada")
    assert load(base, "events/pending", mention)["payload"]["text"] == "look at this"
    assert "ada answered: next" in json.dumps(said[1]["blocks"])
