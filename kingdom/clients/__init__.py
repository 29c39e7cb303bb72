"""The only code that knows an SDK or a program: tmux, later git, GitHub, Jira, Slack."""
