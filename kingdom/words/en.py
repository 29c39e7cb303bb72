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
    "envoy_attached": "The whole text is attached ({characters} characters).",
    "envoy_trial": "A test of the connection; this message is removed at once.",
    "envoy_part": "Part {number} of {of}",
    "envoy_answer_form": '"your answer"',
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
    "king_refused_answer": "The answer was not taken: {reason}",
    "king_watcher_trouble": "The {watcher} watcher sees nothing just now. {said}",
    "king_watcher_ok": "The {watcher} watcher sees again.",
    "king_notice": "{task} ({general}, {status}): {text}",
    "king_status_success": "success",
    "king_status_failed": "failed",
    "king_status_killed": "killed",
    "king_status_skipped": "skipped",
    "king_status_needs_human": "needs_human",
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
}
