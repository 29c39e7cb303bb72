"""What a soldier would be given to read for an event, without any of it happening."""

from __future__ import annotations

import os
from datetime import datetime
from typing import NamedTuple

from kingdom.errors import InvalidFile
from kingdom.general.brief.guides import Told, assemble
from kingdom.king.routing import task_for
from kingdom.models.event import Event
from kingdom.models.task import Task
from kingdom.ops.generals import named, packages
from kingdom.ops.sending import event_from, payload_from
from kingdom.runtime.config import Config, General, guide_of
from kingdom.settings.loading import Settings
from kingdom.store.paths import BaseDir

REPO_DIR = "repo"


class Preview(NamedTuple):
    told: Told
    task: Task
    doubt: str  # why the event would not have come to this general; empty if it would
    left_out: list[str]  # generals that it would be told of, if they had no faults


def preview(
    base: BaseDir,
    name: str,
    event: bytes,
    shown: str,
    now: datetime,
    *,
    from_untrusted: bool = False,
) -> Preview:
    """`shown` is what to call the event's file when something is wrong with it; `now` is as the
    kingdom's wall clock shows it. Faults of other generals keep nobody from looking."""
    general = named(base, name).general()
    there = packages(base)
    others = {one.name: one.general() for one in there if not one.faults}
    config = Config(Settings(), others, guide_of(base))
    made = _event(event, shown, now)
    task = task_for(made, general, f"task-{now:%Y%m%d}-000", now)
    repo_dir = _repo_dir(base, general, task)
    told = assemble(
        base,
        config.guide,
        general,
        task,
        repo_dir,
        from_untrusted=from_untrusted,
        roster=config.roster(name),
    )
    taker = config.route(made.type)
    scheduled = made.type in {one.task_type for one in general.manifest.schedules}
    doubt = "" if scheduled else _doubt(made.type, taker, name)
    return Preview(told, task, doubt, [one.name for one in there if one.faults])


def _event(data: bytes, shown: str, now: datetime) -> Event:
    try:
        event = event_from(payload_from(data, shown), now, name=shown)
    except InvalidFile as fault:
        remedy = "kingdom schema event shows the form."
        raise InvalidFile(fault.sentence, remedy=remedy, code=fault.code) from None
    assert isinstance(event, Event)
    return event


def _repo_dir(base: BaseDir, general: General, task: Task) -> str:
    own = os.path.join(base.workspace, general.name, task.id)
    return os.path.join(own, REPO_DIR) if task.repo else own


def _doubt(event_type: str, taker: General | None, name: str) -> str:
    if taker is not None and taker.name == name:
        return ""
    goes = f"goes to {taker.name}" if taker else "is taken up by nobody"
    return f"{name} does not subscribe to {event_type}; such an event {goes}."
