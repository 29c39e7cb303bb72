"""Ways to reach people, each behind `kingdom.envoy.transport`."""
