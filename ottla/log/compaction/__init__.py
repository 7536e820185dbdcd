"""Keeping the last value of each key, as Kafka's log cleaner does."""
