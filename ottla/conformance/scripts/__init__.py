"""The scripts, one module an area. Their docstrings say what Kafka answers; the golden files prove it."""
