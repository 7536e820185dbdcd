"""A partition and its log: what is appended, what is read, who produced it, what is too old."""
