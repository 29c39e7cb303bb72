"""The sentinel's process.

Reads `config/`, `queue/inbox/`, and what GitHub and Jira say. Writes events through the bus, and
`state/sentinel/`: `seen/`, what each watcher knows (`github-state.json`, `jira-state.json`), and
`watchers.json`, how each of them fares; trouble is known from there to the next life.

A crash leaves a round cut off; the next one looks again, and what was emitted is known by then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from kingdom.bus.port import Accept
from kingdom.runtime.role import Setting
from kingdom.sentinel.places import INTERVAL, make_watcher, watched
from kingdom.sentinel.post import Post
from kingdom.store import disk
from kingdom.store.state import read_json, write_json
from kingdom.store.watch import Watch
from kingdom.topology import INBOX


class Sentinel:
    name = "sentinel"
    streams: tuple[str, ...] = ()

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._config = setting.config
        self._posts: dict[str, Post] = {}
        self._manned: dict[str, Any] = {}  # the settings that each post was made for
        self._path = setting.base.path("state", "sentinel", "watchers.json")
        before = read_json(self._path, {})
        self._before: dict[str, Any] = before if isinstance(before, dict) else {}
        disk.make_directory(setting.base.path(INBOX))
        self._watch = Watch()
        self._watch.add(setting.base.path(INBOX))

    def start(self) -> None:
        self._man_posts()
        self._write()

    def step(self) -> float:
        changed = self._refresh()
        if self._watch.changes() != [] and "inbox" in self._posts:
            self._posts["inbox"].hurry()
        for post in self._posts.values():
            changed |= post.step()
        if changed:
            self._write()
        return min((post.seconds_left() for post in self._posts.values()), default=INTERVAL)

    def accepts(self) -> Mapping[str, Accept]:
        return {}

    def descriptors(self) -> Sequence[int]:
        watch = [self._watch.fileno()] if self._watch.available else []
        return [*watch, *(post.fileno() for post in self._posts.values())]

    def stop(self) -> None:
        """A round under way is cut off, as by a crash."""
        for post in self._posts.values():
            post.close()
        self._watch.close()

    def _refresh(self) -> bool:
        before = self._config.problem
        refreshed = self._config.refresh()
        problem = self._config.problem
        if problem is not None and problem is not before:
            self._setting.log.warning("config.refused", error=str(problem), code=problem.code)
        return refreshed and self._man_posts()

    def _man_posts(self) -> bool:
        """One post for each watcher that is configured, as it is configured now."""
        wanted = watched(self._config.current.settings.sentinel)
        for name, settings in wanted.items():
            if settings == self._manned.get(name):
                continue
            make = partial(make_watcher, name, settings, self._setting)
            if name in self._posts:
                self._posts[name].change(settings.interval_seconds, make)
            else:
                before = self._before.pop(name, None)
                interval = settings.interval_seconds
                self._posts[name] = Post(name, interval, make, self._setting, before)
        for name in self._manned.keys() - wanted.keys():
            self._posts[name].leave()
        changed, self._manned = wanted != self._manned, wanted
        return changed

    def _write(self) -> None:
        posts = [post for post in self._posts.values() if post.is_manned]
        write_json(self._path, {post.name: post.standing.spelled() for post in posts}, sync=False)


def make(setting: Setting) -> Sentinel:
    return Sentinel(setting)
