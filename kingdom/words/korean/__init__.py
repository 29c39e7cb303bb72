"""Every failure of `kingdom.failures` in Korean, in the same rooms: what happened, and what helps.

Paths, keys and commands are as they are there.
"""
