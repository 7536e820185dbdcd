"""Client and broker in one event loop on simulated time; see `simulation`, and docs/time.md."""
