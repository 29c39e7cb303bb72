"""What a person types: one module per command, imported when that command is."""
