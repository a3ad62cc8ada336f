"""The `projection` protocol: a pilot round, then one randomized bit of the influence function."""
