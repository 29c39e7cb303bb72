"""The whole suite under load while its processes are killed: `bin/soak`, and a short form in CI."""
