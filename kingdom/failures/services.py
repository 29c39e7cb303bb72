"""What others refuse or cannot do: GitHub, Jira, Slack; and what is not done for soldiers."""

from __future__ import annotations

from kingdom.failures.failure import Failure

OF_SERVICES = (
    Failure(
        "github_unavailable",
        "wait",
        "GitHub could not be reached, or has trouble of its own.",
        "It is asked again by itself; if it lasts, check the network and: kingdom status.",
    ),
    Failure(
        "github_limited",
        "wait",
        "GitHub limits how much it may be asked.",
        "It is asked again by itself when the limit ends; a longer interval_seconds asks less.",
    ),
    Failure(
        "github_login",
        "wait",
        "GitHub does not accept the token.",
        "Renew the token, or run: gh auth login; it is tried again by itself.",
    ),
    Failure(
        "github_refused",
        "never",
        "GitHub refuses what was asked of it.",
        "Its own words say why; often the token lacks a permission for the repository.",
    ),
    Failure(
        "jira_unavailable",
        "wait",
        "Jira could not be reached, or has trouble of its own.",
        "It is asked again by itself; if it lasts, check polling.jira.url in sentinel.yaml.",
    ),
    Failure(
        "jira_limited",
        "wait",
        "Jira limits how much it may be asked.",
        "It is asked again by itself when the limit ends; a longer interval_seconds asks less.",
    ),
    Failure(
        "jira_login",
        "wait",
        "Jira does not accept the token, or wants a person to log in.",
        "Make a new token and set it, see docs/watching-jira.md; it is tried again by itself.",
    ),
    Failure(
        "jira_query",
        "wait",
        "Jira does not understand the search that the watcher was given.",
        "Try it in Jira's own search, then correct polling.jira.scope.jql_base in sentinel.yaml.",
    ),
    Failure(
        "jira_refused",
        "never",
        "Jira refuses what was asked of it.",
        "Its own words say why; the account may lack a permission, see docs/watching-jira.md.",
    ),
    Failure(
        "slack_unavailable",
        "wait",
        "Slack could not be reached, or has trouble of its own.",
        "Messages wait and are sent by themselves; see what waits: kingdom queue ls messages.",
    ),
    Failure(
        "slack_limited",
        "wait",
        "Slack limits how much it may be asked.",
        "Messages wait and are sent by themselves when the limit ends.",
    ),
    Failure(
        "slack_login",
        "wait",
        "Slack does not accept the token.",
        "Install the app in the workspace again, and set its new token, then: kingdom restart.",
    ),
    Failure(
        "slack_no_channel",
        "never",
        "Slack knows no such channel or person, or it is archived.",
        "Name a channel in config/local/envoy.yaml that exists; a private one must have the app "
        "invited.",
    ),
    Failure(
        "slack_not_in_channel",
        "never",
        "The Slack app is not in the channel.",
        "Invite it there with: /invite @kingdom.",
    ),
    Failure(
        "slack_scope",
        "never",
        "The Slack app lacks a scope.",
        "Add the one that is named under OAuth & Permissions, and install the app again.",
    ),
    Failure(
        "slack_crowded",
        "never",
        "Another program listens with the same Slack app, and Slack gives each answer to one.",
        "Stop the other one, or make it an app of its own with: kingdom envoy manifest.",
    ),
    Failure(
        "slack_refused",
        "never",
        "Slack refuses what was asked of it.",
        "Its own word says why; check the app and the channel with: kingdom envoy try.",
    ),
    Failure(
        "watcher_off",
        "wait",
        "A watcher is configured, and something that it needs is not there.",
        "kingdom status says what to set.",
    ),
    Failure(
        "watcher_crashed",
        "wait",
        "A watcher failed in a way that nobody foresaw.",
        "It looks again by itself; the log has more: kingdom logs sentinel.",
    ),
    Failure(
        "action_refused",
        "never",
        "The kingdom does not do outside what the soldier asked for.",
        "The result says why; permissions.actions in the manifest names what may be done.",
    ),
    Failure(
        "outbound_held",
        "never",
        "It may hold a secret, so it has not left.",
        "See it with kingdom queue show ID, then let it pass with kingdom release ID, or decide "
        "against it with kingdom queue drop ID.",
    ),
    Failure(
        "memory_busy",
        "wait",
        "Someone holds a memory file and does not let go of it.",
        "Only this lesson is lost; close whatever has it open, such as: kingdom memory edit.",
    ),
    Failure(
        "memory_unreadable",
        "never",
        "A memory file is not a text that could be added to.",
        "See it with: kingdom memory show; then correct or remove the file.",
    ),
    Failure(
        "memory_refused",
        "never",
        "What came out of the editor cannot be kept as memory.",
        "The copy that was edited is kept; correct it and try again: kingdom memory edit.",
    ),
)
