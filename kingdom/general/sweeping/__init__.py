"""What generals leave on disk, and when it goes."""
