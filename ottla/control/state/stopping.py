"""The exception for what was asked of a broker that is being stopped."""

from __future__ import annotations


class Stopping(Exception):
    """What was asked is not done, or not to its end, because the broker is being stopped."""

    def __init__(self) -> None:
        super().__init__("the broker is being stopped")
