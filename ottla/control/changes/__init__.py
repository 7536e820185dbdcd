"""What a test changes without being a client: topics, groups, leaders, time; reset, seeds and snapshots."""
