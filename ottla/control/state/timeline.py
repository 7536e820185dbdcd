"""What happened in a broker, kept for who asks later: the last events, when each of them was, and a table of them.

      real   broker  group    member        what happened
     0.004    0.000  kitchen  ana-5b1e77c0  joined: ana at /127.0.0.1
     0.004    0.000  kitchen  ana-5b1e77c0  rebalance started: member_joined

*Real* is the machine's time and *broker* the broker's, both in seconds since the start. They differ where the clock is
virtual. How many events are kept is bounded, and how many were lost is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from ottla.control.state.sentences import sentence, shortened
from ottla.events.kind import KINDS, Kind
from ottla.events.recorder import EVENTS_MAX, Recorder

if TYPE_CHECKING:
    from ottla.events.stream import Event, Stream

_INTERNAL: Final = "__"
_HEAD: Final = ("real", "broker", "group", "member", "what happened")


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened."""

    sequence: int
    """Grows with each event."""
    real_s: float
    """When, in seconds of the machine's time since the start."""
    broker_s: float
    """When, in seconds of the broker's time since the start."""
    wall_ms: int
    """When, as the broker's date."""
    kind: str
    """Such as group.member.removed."""
    details: Mapping[str, Any]
    said: str
    """What happened, for people."""
    node_id: int | None = None

    @property
    def group_id(self) -> str | None:
        """The group it is about."""
        return self.details.get("group_id")

    @property
    def member_id(self) -> str | None:
        """The member it is about, or because of whom it happened."""
        return self.details.get("member_id")

    @property
    def is_minor(self) -> bool:
        """Whether a short table can do without it."""
        return KINDS[self.kind].is_minor or str(self.details.get("topic", "")).startswith(_INTERNAL)


class History:
    """What happens in one broker from when this is made, or since the broker was put back to its start."""

    def __init__(self, events: Stream, now_ms: int, kept_max: int = EVENTS_MAX) -> None:
        #: What `real_s` counts from, in nanoseconds of the machine's clock, as all instants here.
        self.began_ns = perf_counter_ns()
        #: What `broker_s` counts from.
        self.began_ms = now_ms
        self._recorder = Recorder(events, events_max=kept_max)
        self._stop_clearing = events.read(lambda _event: self._recorder.clear(), [Kind.BROKER_RESET])

    def close(self) -> None:
        """Keep nothing more. What is kept can still be had."""
        self._recorder.close()
        self._stop_clearing()

    def timeline(self, since_ns: int = 0) -> Timeline:
        """What has happened since this instant of `perf_counter_ns`, as far as it is kept."""
        kept, lost = self._recorder.kept, self._recorder.lost
        has_lost = lost > 0 and bool(kept) and since_ns < kept[0].at_ns
        return Timeline(
            [self._moment(at_ns, event) for at_ns, event in kept if at_ns > since_ns], lost=lost if has_lost else 0
        )

    def _moment(self, at_ns: int, event: Event) -> Moment:
        return Moment(
            event.sequence,
            (at_ns - self.began_ns) / 1e9,
            (event.now_ms - self.began_ms) / 1000,
            event.wall_ms,
            event.kind.name,
            event.details,
            sentence(event),
            event.node_id,
        )


class Timeline(Sequence[Moment]):
    """What happened, in order. Printed, it is a table."""

    def __init__(self, moments: Iterable[Moment], *, lost: int = 0) -> None:
        """`lost`: how many were before the first, and are not known any more."""
        self._moments = list(moments)
        self.lost = lost

    def __len__(self) -> int:
        return len(self._moments)

    def __getitem__(self, index: Any) -> Any:
        return self._moments[index]

    def __iter__(self) -> Iterator[Moment]:
        return iter(self._moments)

    def of(
        self, kind: str = "*", *, group: str | None = None, member: str | None = None, **details: object
    ) -> Timeline:
        """Those of this kind, group and member, and with these details; `*` stands for anything."""
        wanted = {"group_id": group, "member_id": member, **details}
        return Timeline(
            (
                moment
                for moment in self._moments
                if fnmatchcase(moment.kind, kind)
                and all(_agrees(moment.details.get(key), value) for key, value in wanted.items() if value is not None)
            ),
            lost=self.lost,
        )

    def about(self, group: str) -> Timeline:
        """What happened in this group, and what is of no group: time, topics, nodes."""
        return Timeline((moment for moment in self._moments if moment.group_id in (None, group)), lost=self.lost)

    def short(self, rows_max: int = 40) -> Timeline:
        """The last ones, without what is minor."""
        major = [moment for moment in self._moments if not moment.is_minor]
        return Timeline(major[-rows_max:], lost=self.lost + max(0, len(major) - rows_max))

    def __str__(self) -> str:
        rows = [_HEAD, *map(_row, self._moments)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD) - 1)]
        lines = [
            "  ".join(
                [
                    *(cell.rjust(width) for cell, width in zip(row[:2], widths[:2], strict=True)),
                    *(cell.ljust(width) for cell, width in zip(row[2:4], widths[2:], strict=True)),
                    row[4],
                ]
            ).rstrip()
            for row in rows
        ]
        if self.lost:
            lines.insert(1, f"... {self.lost} more before")
        if not self._moments:
            lines.append("nothing")
        return "\n".join(lines)


def _row(moment: Moment) -> tuple[str, str, str, str, str]:
    what = moment.said if moment.node_id is None else f"node {moment.node_id}: {moment.said}"
    return (
        f"{moment.real_s:.3f}",
        f"{moment.broker_s:.3f}",
        moment.group_id or "",
        shortened(moment.member_id or ""),
        what,
    )


def _agrees(value: object, wanted: object) -> bool:
    if isinstance(wanted, str):
        return value is not None and fnmatchcase(str(value), wanted)
    return value == wanted
