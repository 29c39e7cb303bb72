"""Which scope each of Slack's methods wants."""

from __future__ import annotations

SCOPES = {
    "chat.postMessage": "chat:write",
    "chat.update": "chat:write",
    "chat.delete": "chat:write",
    "conversations.open": "im:write",
    "conversations.info": "channels:read",
    "conversations.list": "channels:read",
    "conversations.history": "channels:history",
    "conversations.replies": "channels:history",
    "reactions.add": "reactions:write",
    "reactions.remove": "reactions:write",
    "users.conversations": "channels:read",
    "users.info": "users:read",
    "usergroups.users.list": "usergroups:read",
    "files.getUploadURLExternal": "files:write",
    "files.completeUploadExternal": "files:write",
}
ALL_SCOPES = frozenset(SCOPES.values()) | {
    "app_mentions:read", "groups:history", "groups:read", "im:history", "metadata.message:read"
}  # fmt: skip
