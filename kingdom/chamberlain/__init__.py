"""The chamberlain: measures, restarts what hangs, cleans, keeps the budget, reports."""
