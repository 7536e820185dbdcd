"""What keeps failing: how long it is left alone, and whether there is anything new to say about it.

    fails    told, left alone for a second
    fails    not told again; two seconds, four … up to five minutes
    fails    for another reason: told
    goes     told, and forgotten

Time is the broker's, so a virtual clock goes through all of it as well.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from ottla.purgatory import Clock

K = TypeVar("K", bound=Hashable)

BACKOFF_MS_MIN: Final = 1_000
BACKOFF_MS_MAX: Final = 300_000
#: Where clients choose the keys, and nobody says of them that they went well, so many are remembered.
QUIET_KEYS_MAX: Final = 10_000
_DOUBLINGS_MAX: Final = 16


def reason_of(error: BaseException) -> str:
    """An error in a line: its kind, and what it says."""
    return f"{type(error).__name__}: {error}"


@dataclass(slots=True)
class _Setback:
    reason: str
    failures: int
    failed_ms: int

    @property
    def backoff_ms(self) -> int:
        return min(BACKOFF_MS_MIN << min(self.failures - 1, _DOUBLINGS_MAX), BACKOFF_MS_MAX)


class Setbacks(Generic[K]):
    """What has failed and has not gone well since, by what it is."""

    __slots__ = ("_clock", "_of", "_quiet_ms")

    def __init__(self, clock: Clock, quiet_ms: int | None = None) -> None:
        """`quiet_ms`: what has not failed for so long is forgotten, for what nobody says of that it went well."""
        self._clock = clock
        self._quiet_ms = quiet_ms
        self._of: dict[K, _Setback] = {}

    def failed(self, key: K, error: BaseException | str) -> bool:
        """Note it; returns whether that is news."""
        reason, now_ms = error if isinstance(error, str) else reason_of(error), self._clock.now_ms()
        self._forget_quiet(now_ms)
        former = self._of.pop(key, None)
        failures = 1 if former is None else former.failures + 1
        self._of[key] = _Setback(reason, failures, now_ms)
        return former is None or former.reason != reason

    def went_well(self, key: K) -> bool:
        """Forget it; returns whether it had failed before, and so is news."""
        return bool(self._of) and self._of.pop(key, None) is not None

    def backoff_ms(self, key: K) -> int:
        """How long it is to be left alone since it failed; 0 if it has not."""
        setback = self._of.get(key)
        return 0 if setback is None else setback.backoff_ms

    def failures(self, key: K) -> int:
        """How often it has failed in a row."""
        setback = self._of.get(key)
        return 0 if setback is None else setback.failures

    def is_resting(self, key: K) -> bool:
        """Whether it is to be left alone."""
        setback = self._of.get(key) if self._of else None
        return setback is not None and self._clock.now_ms() < setback.failed_ms + setback.backoff_ms

    def _forget_quiet(self, now_ms: int) -> None:
        """They stand in the order in which they failed last, so this looks at those that go and one more."""
        if self._quiet_ms is None:
            return
        while self._of:
            key = next(iter(self._of))
            if self._of[key].failed_ms >= now_ms - self._quiet_ms and len(self._of) < QUIET_KEYS_MAX:
                return
            del self._of[key]
