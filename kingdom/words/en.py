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
    "envoy_answer_form": '"your answer"',
    # What the king says of a task.
    "king_started": "{general} takes up {task} ({type})",
    "king_retried": "{general} tries {original} again, as {task}",
    "king_success": "Done. {summary}",
    "king_skipped": "Nothing was done: {reason}",
    "king_failed": "{task} failed ({code}): {error}",
    "king_no_report": "It was taken out of the queue, and nobody will report on it.",
    "king_resumed": "{who} answered: {answer}\n{general} goes on with {task}.",
    "king_refused_answer": "The answer was not taken: {reason}",
    "king_notice": "{task} ({general}, {status}): {text}",
}
