"""The engine `codex`: OpenAI's Codex, one `codex exec` per attempt."""
