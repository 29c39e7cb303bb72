"""The envoy: speaks with people, and turns their answers into events."""
