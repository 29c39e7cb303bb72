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
    "demo": Command("demo", BEGIN, "the journey of one event, shown in a minute"),
    "init": Command("init", BEGIN, "make a base directory with commented configuration"),
    "send": Command("send", BEGIN, "make an event, as if it had come from outside"),
    "start": Command("start", BEGIN, "run all roles, and restart those that die"),
    "stop": Command("stop", BEGIN, "end all roles in order"),
    "restart": Command("restart", BEGIN, "end and start all roles, or one"),
    "run": Command("run", BEGIN, "run one role here, as a service manager does"),
    "status": Command("status", LOOK, "what runs, what waits, and what needs a person"),
    "top": Command("top", LOOK, "all of that live, with what each soldier is doing"),
    "doctor": Command("doctor", LOOK, "what this machine lacks, and what to do about it"),
    "ask": Command("ask", LOOK, "the questions that wait for a person"),
    "answer": Command("answer", LOOK, "answer a question, so that its task goes on"),
    "trace": Command("trace", LOOK, "the story of an event, task, message or soldier, in order"),
    "why": Command("why", LOOK, "why something happened, or has not happened yet"),
    "report": Command("report", LOOK, "what happened in a day or a week"),
    "budget": Command("budget", LOOK, "what soldiers cost, who spent it, and what is left"),
    "logs": Command("logs", LOOK, "what roles, soldiers and tasks have written"),
    "attach": Command("attach", LOOK, "a soldier's own terminal"),
    "freeze": Command("freeze", LOOK, "suspend soldiers where they are"),
    "thaw": Command("thaw", LOOK, "let frozen soldiers go on"),
    "cancel": Command("cancel", LOOK, "end a task and its soldier"),
    "retry": Command("retry", LOOK, "make a new task of one that has ended"),
    "release": Command("release", LOOK, "let pass what is held because it may hold a secret"),
    "sentinel": Command("sentinel", LOOK, "try what the watchers see, without any effect"),
    "envoy": Command("envoy", LOOK, "make and try the Slack app that speaks for the kingdom"),
    "general": Command("general", LOOK, "list, check, make, install and remove generals"),
    "memory": Command("memory", LOOK, "what soldiers are told of earlier work; edit and forget"),
    "queue": Command("queue", LOOK, "list, show, retry and drop messages"),
    "config": Command("config", LOOK, "effective settings and where each comes from"),
    "errors": Command("errors", LOOK, "what a failure's code means, and what to do about it"),
    "schema": Command("schema", LOOK, "JSON Schema of a file the kingdom reads or writes"),
    "fsck": Command("fsck", KEEP, "check every invariant of the directories, and repair"),
    "clean": Command("clean", KEEP, "remove what has had its time, or show what would go"),
    "backup": Command("backup", KEEP, "write an archive, while everything runs"),
    "restore": Command("restore", KEEP, "make a base directory from an archive"),
    "migrate": Command("migrate", KEEP, "upgrade the files of an older version"),
    "systemd": Command("systemd", KEEP, "have systemd keep it running, also after a reboot"),
    "completion": Command("completion", SHELL, "script that completes commands and ids"),
    "version": Command("version", SHELL, "the version of the program"),
    "help": Command("help", SHELL, "this page, or the one of a command"),
}
# Asked by the completion scripts, not by people.
HIDDEN = {"complete": Command("complete", "", "")}
