"""Questions and orders of scripts and tests, over HTTP or in the same process."""
