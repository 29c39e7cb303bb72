"""The kingdom as units of systemd: their text, and their installation."""
