"""Settings of the broker, of topics and of groups: their tables, and how texts become values and change."""
