"""What a general does on GitHub for a soldier that asked for it: each exactly once."""
