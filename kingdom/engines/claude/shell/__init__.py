"""The commands of a soldier that may run some: read, looked at, and git's said anew."""
