"""One program per client library, each behind the same words: see `program`."""
