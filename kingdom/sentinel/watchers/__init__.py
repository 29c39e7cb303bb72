"""One module for each place that is watched; see `kingdom.sentinel.watcher` for what it offers."""
