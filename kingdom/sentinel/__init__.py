"""Watches GitHub, Jira and the inbox: what happens there becomes events, each exactly once."""
