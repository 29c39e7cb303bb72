"""English."""

SENTENCES: dict[str, str] = {
    # What the envoy adds to a message.
    "envoy_urgent": "URGENT",
    "envoy_high": "Important",
    "envoy_no_text": "(no text)",
    "envoy_question": "Question: {question}",
    "envoy_default": "Unless someone answers, it will be: {default}",
    "envoy_default_until": "If nobody answers by {moment}, it will be: {default}",
    "envoy_answer": "Answer with: kingdom answer {task_id} {form}",
    "envoy_answer_here": "Answer in this thread, or with: kingdom answer {task_id}",
    "envoy_choose_here": "Choose one, or answer in this thread or with: kingdom answer {task_id}",
    "envoy_answered": "{who} answered: {answer}",
    "envoy_defaulted": "Nobody answered in time, so it is: {answer}",
    "envoy_withdrawn": "Nobody needs to answer this any more.",
    "envoy_may_not_answer": (
        "Thank you, but only those may answer here whom the settings of this kingdom name."
    ),
    "envoy_answered_already": "Thank you; this question has been answered already.",
    "envoy_not_an_option": "That is none of the answers to choose from. They are: {options}",
    "envoy_no_answer": "An answer needs some words; please write it in this thread.",
    "envoy_old_button": "This button belongs to a question that nobody asks any more.",
    "envoy_nothing_asked": (
        "Nothing is asked in this thread now; for new work, call me by name or write me directly."
    ),
    "envoy_crowded": (
        "Another program listens with the same Slack app, so some answers and messages never reach "
        "me. Please stop it, or make it an app of its own with: kingdom envoy manifest"
    ),
    "envoy_not_shown": "(not shown, it has a secret in it)",
    "envoy_attached": "The whole text is attached ({characters} characters).",
    "envoy_not_attached": "It could not be attached; read it with: kingdom queue show {id}",
    "envoy_trial": "A test of the connection; this message is removed at once.",
    "envoy_part": "Part {number} of {of}",
    "envoy_daily_report": "Daily report, {date}",
    "envoy_report_tasks": "Tasks: {created} begun, {completed} completed, {failed} failed, "
    "{needs_human} waiting for a person",
    "envoy_report_soldiers": "Soldiers: {spawned} started, {timeout} out of time",
    "envoy_report_times": "Average time: {times}",
    "envoy_answer_form": '"your answer"',
    # What a general asks before it does something outside, and what came of it.
    "general_asks_approval": "Approve {actions} for {place} (work of {trust})?",
    "general_approval_cut": "Shortened; all of it: kingdom ask {task}",
    "general_approve": "approve",
    "general_reject": "reject",
    "general_approved": "{who} approved it.",
    "general_rejected": "{who} rejected it.",
    "general_not_approved": "Nobody approved it in time.",
    # What the king says of a task.
    "king_started": "{general} takes up {task} ({type})",
    "king_retried": "{general} tries {original} again, as {task}",
    "king_success": "Done. {summary}",
    "king_skipped": "Nothing was done: {reason}",
    "king_failed": "{task} failed ({code}): {error}",
    "king_no_report": "It was taken out of the queue, and nobody will report on it.",
    "king_resumed": "{who} answered: {answer}\n{general} goes on with {task}.",
    "king_defaulted": "Nobody answered until {moment}, so the default was taken: {answer}\n"
    "{general} goes on with {task}.",
    "king_reminder": "This question has waited for an answer for {span}: {question}\n"
    "Reply to it, or use: kingdom answer {task}",
    "king_parked": "Nobody answered for {span}, so this question is parked, without further "
    "reminders: {question}\nIt can still be answered: reply to it, or use: kingdom answer {task}",
    "king_held_message": "{id} was not sent, since it may hold a secret. {reason}\n"
    "Look at it: kingdom queue show {id}\nSend it as it is: kingdom release {id}\n"
    "Never send it: kingdom queue drop {id}",
    "king_held_actions": "Not everything of {id} was done, since it may hold a secret. {reason}\n"
    "Look at it: kingdom why {id}\nDo it as it is: kingdom release {id}\n"
    "Never do it: kingdom queue drop {id}",
    "king_held_still": "Nobody has decided for {span}. {said}",
    "king_released": "{general} does what was held of {original}, as {task}",
    "king_nothing_held": "Nothing of {task} is held.",
    "king_may_not_approve": "Only a member may approve it.",
    "king_limit_turns": "{about} has had {count} turns within an hour, the most that "
    "conversation.turns_per_hour in king.yaml allows.",
    "king_limit_usd": "{about} has cost ${spent} within an hour; conversation.usd_per_hour in "
    "king.yaml allows ${most}.",
    "king_limit_bot_hops": "Bots had {count} turns in a row on {about}, the most that "
    "conversation.bot_hops in king.yaml allows.",
    "king_limit_failing": "{general} has failed on {about} {count} times in a row, and nothing "
    "about it has changed since.",
    "king_limit_bot": "A bot ({who}) started it, and bots.start_work in king.yaml does not name "
    "that one.",
    "king_limit_schedule": "{general} has failed {count} times in a row on {about}, so it runs "
    "once a day until it works. Try it now: kingdom retry {task}",
    "king_limit_waits": "It waits until the hour is over; `kingdom release {id}` lets it go on at "
    "once.",
    "king_limit_refused": "It is not taken up; `kingdom release {id}` does so all the same.",
    "king_channel_ignored": "Other channels were not told: the work came from less trusted people "
    "({trust}).",
    "king_refused_answer": "The answer was not taken: {reason}",
    "king_watcher_trouble": "The {watcher} watcher sees nothing just now. {said}",
    "king_watcher_ok": "The {watcher} watcher sees again.",
    "king_notice": "{task} ({general}, {status}): {text}",
    "king_status_success": "success",
    "king_status_failed": "failed",
    "king_status_killed": "killed",
    "king_status_skipped": "skipped",
    "king_status_needs_human": "needs_human",
    # What the king says to people who write to the kingdom.
    "king_hello": "Hello! This is how things stand:",
    "king_welcome": "You are welcome!",
    "king_no_words": "Please say in words what you would like; I do not read files.",
    "king_at_work": "At work ({count}):",
    "king_queued": "Next ({count}):",
    "king_idle": "Nothing is being done just now.",
    "king_waiting": "Waiting to be let in: {count}",
    "king_questions": "Questions that wait for your answer ({count}):",
    "king_and_more": "- and {count} more",
    "king_well": "All is well.",
    "king_frozen": "No new work begins: the kingdom is frozen. Go on with: kingdom thaw",
    "king_no_engine": "No new work begins: {reason}",
    "king_unwell": "The machine is busy (health: {health}), so new work waits.",
    "king_short_of_tokens": "The day's budget is at its {level} level, so new work waits.",
    "king_busy": "All soldiers are at work.",
    "king_waits": "This was heard, and waits. {reason}",
    "king_nobody_hears": "No general answers messages here. Begin with the name of the one you "
    "mean: {generals}",
    "king_routed": "{general} takes it up as {task}.",
    "king_route_unknown": "This was meant for {general}, which is not installed. See who is with: "
    "kingdom general list",
    "king_route_again": "This was passed on once already, so it is not passed on to {general}. Say "
    "it again, beginning with the name of the general you mean.",
    "king_route_not_yours": "Only members may have work passed on to {general}.",
    # Why the king does not take an answer, or do what a command asks.
    "king_no_task": "No task {task} is known.",
    "king_no_question": "{task} asked no question.",
    "king_answered_already": "The question of {task} was answered already.",
    "king_not_installed": "{general}, whose task {task} is, is not installed.",
    # What the chamberlain says.
    "chamberlain_dead": "{count} more in dead/ will be removed after {day}. "
    "See them with: kingdom queue ls --state dead",
    # What a general says of a soldier at work.
    "general_working": "{general} has been at it for {span}: {doing}",
    "general_working_again": "{general} has been at it for {span} (attempt {attempt}): {doing}",
    # What the chamberlain alerts people to.
    "chamberlain_health_red": "Health is red ({reason}): no work is let in. "
    "See what uses the machine with: top (of the kingdom alone: kingdom top)",
    "chamberlain_health_over": "Health is no longer red, but {health}.",
    "chamberlain_disk_full": "The disk that holds {place} is {percent} % full: "
    "no work is let in. Make room there.",
    "chamberlain_disk_room": "The disk that holds {place} has room again ({percent} % full).",
    "chamberlain_hung_warden_kept": "{role} has shown no life for {seconds} seconds: it is ended, "
    "and the warden starts it again.",
    "chamberlain_hung_systemd_kept": "{role} has shown no life for {seconds} seconds: it is ended, "
    "and systemd starts it again.",
    "chamberlain_hung_alone": "{role} has shown no life for {seconds} seconds: it is ended. "
    "Nobody starts it again by itself; do it with: kingdom run {role}",
    "chamberlain_hung_warden": "The {role} has shown no life for {seconds} seconds: what dies is "
    "not started again. Start everything anew with: kingdom restart",
    "chamberlain_hung_over": "{role} shows life again.",
    "chamberlain_hung_gone": "{role} was removed.",
    "chamberlain_returned": "The {role} had shown no life for {seconds} seconds, so the warden "
    "ended it and started it again. What it last did is told by: kingdom logs {role}",
    "chamberlain_duty_broken": "The chamberlain cannot see to {duty} ({error}); it tries again, "
    "and all else goes on. Where it broke is told by: kingdom logs chamberlain",
    "chamberlain_duty_mended": "The chamberlain sees to {duty} again.",
    "chamberlain_abandoned": "{general} does not run, and tasks in progress wait for it "
    "({count}, such as {task}). Start it with: kingdom start, or end them with: "
    "kingdom cancel TASK",
    "chamberlain_abandoned_over": "No task waits in vain for {general} any more.",
    # What the chamberlain found in the events log.
    "chamberlain_failures": "{general} has failed {count} times in a row. The last time: {error} "
    "See: kingdom logs {general}",
    "chamberlain_failures_over": "{general} has completed a task again.",
    "chamberlain_timeouts": "{count} soldiers ran out of time within an hour, so only urgent work "
    "is let in for now. See: kingdom top",
    "chamberlain_timeouts_over": "Soldiers have stopped running out of time.",
    "chamberlain_undispatched_alive": "The king has not taken up {event} for 30 minutes ({count} "
    "such), though it is alive. See: kingdom why {event}",
    "chamberlain_undispatched_silent": "The king has not taken up {event} for 30 minutes ({count} "
    "such) and shows no sign of life. Restart it with: kingdom restart king",
    "chamberlain_undispatched_absent": "Nobody has taken up {event} for 30 minutes ({count} "
    "such): no king runs here. Start it with: kingdom start",
    "chamberlain_undispatched_over": "No event waits for the king any more.",
    "chamberlain_deferred": "{event} has been waiting for 30 minutes ({count} such): {reason} "
    "See: kingdom why {event}",
    "chamberlain_deferred_over": "No event has to wait that long any more.",
    # What the chamberlain says of the budget.
    "chamberlain_budget_warning": "${cost} of today's budget of ${budget} are spent, so only "
    "urgent work is let in. See: kingdom budget",
    "chamberlain_budget_critical": "${cost} of today's budget of ${budget} are spent, so no work "
    "is let in until midnight. Raise token_limits.daily_budget_usd in chamberlain.yaml to go on "
    "now.",
    "chamberlain_budget_unpriced": "Besides, there are attempts whose price is unknown: {count}.",
    "chamberlain_budget_unknown": "No attempt of today has a known price ({count}), so the budget "
    "cannot be kept. See: kingdom budget",
    "chamberlain_budget_over": "The budget admits work again (${cost} are spent today).",
    "chamberlain_budget_known": "Prices are known again (${cost} are spent today).",
    # What a report says.
    "chamberlain_report_day": "Report of {date}",
    "chamberlain_report_week": "Report of the week from {since} to {until}",
    "chamberlain_report_tasks": "Tasks: {created} created, {completed} completed, {failed} "
    "failed, {needs_human} with a question",
    "chamberlain_report_soldiers": "Soldiers: {spawned} sent out, {timeout} out of time",
    "chamberlain_report_general": "{general}: {count} completed in {mean} on average, 95 % within "
    "{most}",
    "chamberlain_report_cost": "Cost: ${usd} (attempts: {attempts})",
    "chamberlain_report_unpriced": "Attempts whose price is unknown: {count}; it cost more than "
    "that.",
    "chamberlain_report_dearest": "Dearest: {task} of {general} (${usd})",
    "chamberlain_report_failures": "Why tasks failed: {listed}",
    "chamberlain_report_failures_in_a_row": "{subject} failed three times in a row ({since} – "
    "{until})",
    "chamberlain_report_timeouts": "Many soldiers ran out of time ({since} – {until})",
    "chamberlain_report_undispatched": "Events waited for the king ({since} – {until})",
    "chamberlain_report_deferred": "Events had to wait for long ({since} – {until})",
    "chamberlain_report_health": "{at} health went from {before} to {after} ({reason})",
    "chamberlain_report_dead": "Dead letters: {count}. See: kingdom queue ls --state dead",
    "chamberlain_report_chart": "Last {days} days: completed {completed}  cost {cost}",
}
