"""The repositories of a general: clones, a worktree for each task, and what is kept of them."""
