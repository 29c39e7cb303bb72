"""The only code that knows an SDK or a program: tmux, git, gh, GitHub."""
