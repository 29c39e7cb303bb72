"""What an operator does to a kingdom. The command line calls it, and any other front may."""
