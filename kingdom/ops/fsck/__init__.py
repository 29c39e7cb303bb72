"""Checks every invariant of a base directory, says the exact repair, and does it when asked.

`survey` reads everything once, the `checks_*` modules each judge a part of it, `examine` runs them
all, and `repair` carries out what they propose.
"""
