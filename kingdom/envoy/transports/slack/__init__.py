"""Slack: one task, one thread; each message once, found again by the id in its metadata."""
