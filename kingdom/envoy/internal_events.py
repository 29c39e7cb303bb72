"""What the envoy writes to the log of internal events."""

from __future__ import annotations

from typing import Any

from kingdom.envoy.questions import Question
from kingdom.models.message import MessageBase
from kingdom.runtime.role import Setting


class InternalEvents:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def about(self, type_: str, message: MessageBase, **more: str) -> None:
        data = {"msg_id": message.id, "task_id": message.task_id, **more}
        self.emit(type_, data, message.trace_id)

    def answered(self, task_id: str, question: Question) -> None:
        data = {"task_id": task_id, "thread_ts": question.thread_ts}
        self.emit("message.human_response", data, question.trace_id)

    def emit(self, type_: str, data: dict[str, Any], trace_id: str | None) -> None:
        self._setting.tell(type_, data, trace_id)
