"""The whole suite under load and faults: `bin/soak`, and short forms in CI."""
