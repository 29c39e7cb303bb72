"""The envoy's side of the outbound gate: whether a message may leave, and why not.

A transport that stays on this machine, as the console does, is not asked: what it shows is masked.
"""

from __future__ import annotations

import json

from kingdom.envoy import reports
from kingdom.envoy.hearing import SaidBy, closing_line
from kingdom.models.fields import Trust
from kingdom.models.message import HumanInputRequest, MessageBase
from kingdom.models.task import Task
from kingdom.outbound.credentials import Credentials
from kingdom.outbound.needles import Needles
from kingdom.outbound.release import is_released
from kingdom.outbound.scan import Text, known_from, scan, sentence
from kingdom.runtime.role import Setting
from kingdom.words import Words

HELD_BACK = "outbound_held"


class OutboundGate:
    def __init__(self, setting: Setting, *, leaves: bool) -> None:
        """`leaves`: whether what is shown leaves this machine."""
        self._setting = setting
        self._leaves = leaves
        self._credentials = Credentials(setting.environment)

    def reason_to_hold(self, message: MessageBase) -> str:
        """What was found where, and nothing of it; empty if it may leave."""
        if not self._leaves or is_released(message):
            return ""
        task = self._task_of(message)
        # Without a task the words are the kingdom's own.
        trust: Trust = "member" if message.task_id is None else _trust_of(task)
        given = json.dumps(task.payload, ensure_ascii=False) if task else ""
        found = scan(self._texts(message), self._needles(), trust, known_from(given))
        return sentence(found) if found else ""

    def closing_line(self, words: Words, text: str, by: SaidBy) -> str:
        """It cannot wait: an answer with a secret in it is not shown."""
        line = closing_line(words, text, by)
        if self._leaves and scan([Text("", line)], self._needles(), "member"):
            return closing_line(words, words("envoy_not_shown"), by)
        return line

    def _needles(self) -> Needles:
        return self._credentials.needles(self._setting.config.current.settings)

    def _task_of(self, message: MessageBase) -> Task | None:
        found = self._setting.bus.look("tasks", message.task_id) if message.task_id else None
        return found[1] if found and isinstance(found[1], Task) else None

    def _texts(self, message: MessageBase) -> list[Text]:
        words = Words(self._setting.config.current.settings.system.language)
        shown = reports.body(message, words)
        texts = [Text("content", shown), Text("channel", message.channel)]
        if isinstance(message, HumanInputRequest):
            texts.append(Text("options", "\n".join(message.options or ())))
            texts.append(Text("default", message.default or ""))
        return texts


def _trust_of(task: Task | None) -> Trust:
    return (task.trust if task else None) or "outside"
