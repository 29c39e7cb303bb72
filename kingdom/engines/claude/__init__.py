"""The engine `claude`: Claude Code, one headless run per attempt."""
