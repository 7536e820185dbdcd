"""Calls that are due when there are so many of something."""

from __future__ import annotations

from collections.abc import Callable


class Milestones:
    """Makes each call once, when the count that it waits for is reached."""

    def __init__(self) -> None:
        self._count = 0
        self._waiting: list[tuple[int, Callable[[], object]]] = []

    def call_at(self, count: int, call: Callable[[], object]) -> None:
        """Call this when there are so many; at once if there are."""
        if self._count >= count:
            call()
        else:
            self._waiting.append((count, call))

    def reached(self, count: int) -> None:
        """There are so many now."""
        self._count = count
        due = [call for at, call in self._waiting if at <= count]
        self._waiting = [(at, call) for at, call in self._waiting if at > count]
        for call in due:
            call()
