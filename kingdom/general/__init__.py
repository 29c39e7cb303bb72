"""A general: runs soldiers for its tasks, verifies their work, reports."""
