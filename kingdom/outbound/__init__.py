"""The outbound gate: what leaves for Slack, GitHub, Jira or a remote is scanned for secrets first.

`scan.py` is pure: text in, findings out, and no finding ever holds the secret. The envoy asks it
before a message is sent, the general before it posts or pushes. What is found is held until a
person decides; see `docs/outbound-gate.md`.
"""
