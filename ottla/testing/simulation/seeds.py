"""Which seed the run of pytest asks for."""

from __future__ import annotations

#: What `--ottla-seed` says; None: nothing, so each simulated test tells its own.
chosen: int | None = None
