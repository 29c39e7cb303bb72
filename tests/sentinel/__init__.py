"""The sentinel: what happens outside becomes events, each exactly once."""
