"""The king: routes events, makes tasks, acts on results, runs schedules."""
