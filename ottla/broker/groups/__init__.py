"""Where groups meet the broker: their log is appended to and loaded, and what happened in them is noted."""
