"""The git of a soldier that may run git and little else: read, looked at, and said anew."""
