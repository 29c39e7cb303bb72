"""The commands: where each lives and what it is for. Help, dispatch and completion read this."""

from __future__ import annotations


class Command:
    """Plain, since every start pays for it."""

    __slots__ = ("group", "module", "summary")

    def __init__(self, module: str, group: str, summary: str) -> None:
        self.module = module
        self.group = group
        self.summary = summary


BEGIN, LOOK, KEEP, SHELL = "Begin", "Look inside and steer", "Keep it safe", "At the shell"

COMMANDS = {
    "init": Command("init", BEGIN, "make a base directory with commented configuration"),
    "send": Command("send", BEGIN, "make an event, as if it had come from outside"),
    "queue": Command("queue", LOOK, "list, show, retry and drop messages"),
    "config": Command("config", LOOK, "effective settings and where each comes from"),
    "schema": Command("schema", LOOK, "JSON Schema of a file the kingdom reads or writes"),
    "fsck": Command("fsck", KEEP, "check every invariant of the directories, and repair"),
    "backup": Command("backup", KEEP, "write an archive, while everything runs"),
    "restore": Command("restore", KEEP, "make a base directory from an archive"),
    "migrate": Command("migrate", KEEP, "upgrade the files of an older version"),
    "completion": Command("completion", SHELL, "script that completes commands and ids"),
    "version": Command("version", SHELL, "the version of the program"),
    "help": Command("help", SHELL, "this page, or the one of a command"),
}
# Asked by the completion scripts, not by people.
HIDDEN = {"complete": Command("complete", "", "")}
