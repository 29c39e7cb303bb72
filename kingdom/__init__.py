"""Kingdom: an AI colleague that settles on a dev box and talks through files."""

__version__ = "0.1.0"
