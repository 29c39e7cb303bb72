"""How an attempt at a task can fail: by its soldier, its engine, its repository."""

from __future__ import annotations

from kingdom.failures.failure import Failure

OF_TASKS = (
    Failure(
        "nothing_held",
        "never",
        "What was to be let pass is not held any more.",
        "See what became of it: kingdom why TASK.",
    ),
    Failure(
        "no_result",
        "retry",
        "The soldier ended without writing a result.",
        "See what it said: kingdom logs SOLDIER.",
    ),
    Failure(
        "result_unreadable",
        "retry",
        "The soldier's result is not a result: no JSON, or not of the form asked for.",
        "See it in state/results/TASK-raw-SOLDIER/; its form: kingdom schema result.",
    ),
    Failure(
        "result_contradictory",
        "retry",
        "The soldier's result contradicts itself.",
        "See it in state/results/TASK-raw-SOLDIER/; its form: kingdom schema result.",
    ),
    Failure(
        "result_too_large",
        "retry",
        "The soldier's result is too large to be one.",
        "Have the soldier put long output into files and name them.",
    ),
    Failure(
        "result_of_another_task",
        "retry",
        "The soldier wrote a result for another task.",
        "Its prompt must name the task; see state/prompts/TASK.md.",
    ),
    Failure(
        "reported_failure",
        "retry",
        "The soldier says that it failed.",
        "Its own words are in the result's error.",
    ),
    Failure(
        "soldier_crashed",
        "retry",
        "The soldier's program ended with an error and left no result.",
        "See what it said: kingdom logs SOLDIER.",
    ),
    Failure(
        "soldier_killed",
        "retry",
        "The soldier was ended by a signal before it had a result.",
        "If the machine is short of memory, lower concurrency.max_soldiers in king.yaml.",
    ),
    Failure(
        "soldier_lost",
        "retry",
        "The soldier's session is gone, and it left neither result nor exit code.",
        "Someone ended the tmux server or the machine restarted; it is tried again.",
    ),
    Failure(
        "stopped",
        "wait",
        "A person stopped the kingdom together with its soldiers.",
        "It is begun anew, at once, after: kingdom start.",
    ),
    Failure(
        "timed_out",
        "retry",
        "The soldier ran longer than its general allows.",
        "Raise timeout_seconds in the general's manifest, or make the work smaller.",
    ),
    Failure(
        "no_progress",
        "retry",
        "The soldier said and did nothing for longer than its general allows.",
        "See how far it came: kingdom logs SOLDIER; limits.no_progress_seconds sets the limit.",
    ),
    Failure(
        "same_call",
        "never",
        "The soldier made the same call again and again.",
        "See which: kingdom logs SOLDIER; limits.same_call in the general's manifest is the limit; "
        "then: kingdom retry TASK.",
    ),
    Failure(
        "too_much_output",
        "never",
        "The soldier's program printed more than soldiers may.",
        "See how it began: kingdom logs SOLDIER; runtime.max_output_mb in system.yaml is the "
        "limit; then: kingdom retry TASK.",
    ),
    Failure(
        "verification_failed",
        "retry",
        "The soldier reported success, but a check of its general's did not pass.",
        "The failing command and its output are in the soldier's log: kingdom logs SOLDIER.",
    ),
    Failure(
        "cancelled",
        "never",
        "A person cancelled it.",
        "Start it again with: kingdom retry TASK.",
    ),
    Failure(
        "superseded",
        "never",
        "The pull request has changed, and its newer version is worked on instead.",
        "Work on this version all the same: kingdom retry TASK.",
    ),
    Failure(
        "prompt_too_large",
        "never",
        "The prompt for this task is larger than an engine takes.",
        "Make the payload smaller, or name files instead of quoting them.",
    ),
    Failure(
        "workspace_failed",
        "retry",
        "The soldier's workspace could not be prepared.",
        "See logs/system.log for what the disk or git said.",
    ),
    Failure(
        "engine_missing",
        "wait",
        "The program that soldiers run on is not installed.",
        "kingdom status says which, and the command that installs it.",
    ),
    Failure(
        "engine_unavailable",
        "wait",
        "The engine refuses work for now: a usage limit, or an outage.",
        "kingdom status says until when; work goes on by itself.",
    ),
    Failure(
        "engine_refused",
        "never",
        "The engine cannot do this: a wrong login, or a wrong setting.",
        "See the result's error; mend it, then: kingdom retry TASK.",
    ),
    Failure(
        "sandbox_failed",
        "retry",
        "The soldier's sandbox could not be set up.",
        "See what bubblewrap said: kingdom logs SOLDIER; and whether it works: kingdom doctor.",
    ),
    Failure(
        "isolation_missing",
        "never",
        "The soldier was not started, because it needs a sandbox and this machine has none.",
        "See what is missing with: kingdom doctor. To run members' work without one, set "
        "runtime.isolation to off in config/local/system.yaml.",
    ),
    Failure(
        "engine_unsupported",
        "never",
        "The general does not support the engine that is configured.",
        "Change runtime.engine in system.yaml, or supported_engines in the manifest.",
    ),
    Failure(
        "tmux_failed",
        "wait",
        "tmux is missing or would not start a session.",
        "Install tmux (apt-get install tmux), or see logs/system.log for what it said.",
    ),
    Failure(
        "crashed_too_often",
        "never",
        "Its general died again and again while handling it.",
        "See logs/system.log; then: kingdom retry TASK.",
    ),
    Failure(
        "dropped",
        "never",
        "A person took it out of the queue.",
        "Start it again with: kingdom retry TASK.",
    ),
    Failure(
        "engine_limited",
        "wait",
        "The engine's usage limit is reached.",
        "kingdom status says until when; work goes on by itself.",
    ),
    Failure(
        "engine_overloaded",
        "wait",
        "The engine could not be reached, or is overloaded.",
        "kingdom status says when it is tried again; work goes on by itself.",
    ),
    Failure(
        "engine_login",
        "never",
        "The engine does not accept the login, or nothing is left to pay it with.",
        "Log in again as the user that runs the kingdom, then: kingdom retry TASK.",
    ),
    Failure(
        "engine_failed",
        "retry",
        "The engine ended with an error of its own.",
        "See what it said: kingdom logs SOLDIER.",
    ),
    Failure(
        "model_refused",
        "never",
        "The model declines to do this.",
        "Say in other words what is wanted, then: kingdom retry TASK.",
    ),
    Failure(
        "turns_exceeded",
        "never",
        "The soldier took all the turns it may take and was not done.",
        "Raise the limit of turns, or make the work smaller; then: kingdom retry TASK.",
    ),
    Failure(
        "budget_exceeded",
        "never",
        "The soldier spent all the money it may spend and was not done.",
        "Raise the budget (limits and permissions.by_trust in the general's manifest.yaml, "
        "token_limits in chamberlain.yaml), or make the work smaller; then: kingdom retry TASK.",
    ),
    Failure(
        "day_budget_spent",
        "wait",
        "The day's budget was spent before the soldier was done.",
        "It goes on tomorrow, or when token_limits in chamberlain.yaml allow more.",
    ),
    Failure(
        "empty_run",
        "retry",
        "The engine reports a success in which the model said nothing.",
        "See what it said: kingdom logs SOLDIER.",
    ),
    Failure(
        "tools_denied",
        "retry",
        "The soldier was denied a tool, and ended without a result.",
        "Allow it in the manifest's permissions.tools, or have the prompt do without.",
    ),
    Failure(
        "session_lost",
        "retry",
        "The engine no longer has the session that was to be continued.",
        "It is begun anew by itself.",
    ),
    Failure(
        "git_missing",
        "wait",
        "git is not installed.",
        "Install it with: apt-get install git (or this system's own package manager).",
    ),
    Failure(
        "git_failed",
        "retry",
        "git ended with an error.",
        "See the result's error; logs/system.log has what git said.",
    ),
    Failure(
        "git_unreachable",
        "retry",
        "The repository's host could not be reached.",
        "Check the network and git.url in system.yaml; it is tried again.",
    ),
    Failure(
        "git_busy",
        "retry",
        "Another git is at work in the repository.",
        "It is tried again.",
    ),
    Failure(
        "clone_broken",
        "retry",
        "The general's copy of the repository is damaged.",
        "It is cloned anew by itself.",
    ),
    Failure(
        "git_refused",
        "never",
        "The repository's host does not let the kingdom in.",
        "Set the token that git.token_env in system.yaml names, or run: gh auth login.",
    ),
    Failure(
        "repository_missing",
        "never",
        "There is no such repository, or the kingdom may not see it.",
        "Check its name; a private one needs a token that may read it.",
    ),
    Failure(
        "ref_missing",
        "never",
        "The branch or commit is not in the repository.",
        "It may have been deleted; check, then: kingdom retry TASK.",
    ),
    Failure(
        "push_rejected",
        "never",
        "The repository's host refused what was pushed.",
        "See the result for its words; what was done is kept under the refs named there.",
    ),
    Failure(
        "repository_refused",
        "never",
        "The repository is named in a way that is not allowed.",
        "Events name owner/name; addresses and paths belong into a general's manifest.",
    ),
    Failure(
        "lfs_missing",
        "never",
        "The repository keeps large files with git-lfs, which is not installed.",
        "Install it with: apt-get install git-lfs. Or system.yaml: git.lfs set to false.",
    ),
    Failure(
        "checkout_too_large",
        "never",
        "The files of the commit would take more room on disk than is allowed.",
        "If they should: raise git.max_checkout_mb or git.max_checkout_files in system.yaml "
        "(git.max_outside_checkout_mb and git.max_outside_checkout_files for work of others than "
        "members).",
    ),
)
