"""The disk: where things lie, how they are written, and how a crash is survived."""
