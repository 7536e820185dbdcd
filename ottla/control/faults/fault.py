"""A fault: an aim, how often, what happens, and what it has hit so far."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ottla.control.faults.milestones import Milestones
from ottla.control.faults.targets import REQUEST

if TYPE_CHECKING:
    from ottla.broker.network.call import Call
    from ottla.control.faults.aim import Aim
    from ottla.control.faults.exchange import Action
    from ottla.control.faults.occurrence import Hit, Occurrence
    from ottla.control.faults.targets import Target
    from ottla.control.faults.times import Times

#: So many hits are kept, the last ones; all are counted.
HITS_KEPT_MAX: Final = 1_000
_MISSES_KEPT_MAX: Final = 3


@dataclass(slots=True, eq=False)
class Fault:
    """One fault, from when it was set until it is removed."""

    number: int
    text: str
    aim: Aim
    target: Target
    actions: Sequence[Action]
    times: Times
    may_not_fire: bool
    hits: deque[Hit] = field(default_factory=lambda: deque(maxlen=HITS_KEPT_MAX))
    hit_count: int = 0
    #: Calls that are due when it has hit so many.
    waiting: Milestones = field(default_factory=Milestones)
    #: What has come since it was set, by API, hit or not.
    seen: Counter[str] = field(default_factory=Counter)
    #: What came close, and why it was not hit.
    misses: deque[str] = field(default_factory=lambda: deque(maxlen=_MISSES_KEPT_MAX))

    def __str__(self) -> str:
        return f"fault {self.number} ({self.text})"

    @property
    def is_spent(self) -> bool:
        """Whether it will never happen again."""
        return self.times.is_spent

    def takes(self, call: Call) -> bool:
        """Whether it happens to this request."""
        self.seen[call.route.name] += 1
        miss = self.aim.miss(call)
        if miss is None:
            return not self.is_spent and self.times.happens()
        if not self.aim.apis or call.route.name in self.aim.apis:
            self.misses.append(f"{call.route.name} v{call.api_version} of {call.client_id!r}: {miss}")
        return False

    def takes_occurrence(self, occurrence: Occurrence) -> bool:
        """Whether it happens to this, which is no request."""
        if self.aim.is_of(occurrence):
            return not self.is_spent and self.times.happens()
        self.misses.append(occurrence.text)
        return False

    def note(self, hit: Hit) -> None:
        """It has happened."""
        self.hits.append(hit)
        self.hit_count += 1
        self.waiting.reached(self.hit_count)

    def seen_instead(self) -> str:
        """What came that was not hit, as a hint why nothing was."""
        if self.aim.raised is not None:
            return f"its function raised {self.aim.raised!r}"
        if self.misses:
            return f"what came close: {'; '.join(self.misses)}"
        if self.seen:
            return f"what came: {', '.join(f'{count} {api}' for api, count in sorted(self.seen.items()))}"
        return "no request came at all" if self.target is REQUEST else "nothing came that it could happen to"
