"""A stream of events that keeps what it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ottla.events.kind import KINDS
from ottla.events.stream import Event, Stream


class Told(Stream):
    """What was told, in its order, as (name, details). It reads all there is but requests."""

    def __init__(self, now_ms: Callable[[], int] = lambda: 0, wall_ms: Callable[[], int] = lambda: 0) -> None:
        super().__init__(now_ms, wall_ms)
        self.raised: list[BaseException] = []
        self._kept: list[tuple[str, dict[str, Any]]] = []
        self.read(self._keep)

    def _keep(self, event: Event) -> None:
        self._kept.append((event.kind.name, dict(event.details)))
        if event.raised is not None:
            self.raised.append(event.raised)

    @property
    def events(self) -> list[tuple[str, dict[str, Any]]]:
        """All, that of other threads included."""
        self._take_handed_over()
        return self._kept

    def named(self, name: str) -> list[dict[str, Any]]:
        """The details of all of this kind."""
        assert name in KINDS, f"there is no {name}"
        return [details for told, details in self.events if told == name]


def told(stream: Stream, name: str) -> list[dict[str, Any]]:
    """The details of all of this kind that such a stream was told."""
    assert isinstance(stream, Told)
    return stream.named(name)
