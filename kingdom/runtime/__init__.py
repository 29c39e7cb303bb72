"""What every role runs on: its log, its internal events, its loop."""
