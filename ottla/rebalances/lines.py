"""A line of a journal: its fields, as far as the analysis needs them. docs/journal.md tells what each means.

    b'{"v":1,"line":52,"t":1767225605000,"group":"orders","seq":7,"event":"group.created",…}'  ──line_of──▶  JournalLine

A line that is no JSON, or not of version 1, is not usable: `line_of` gives None. `ottla rebalances` and the Spark job
both read lines with it, so both count and use the same ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

#: The version of a line, in its `v`.
VERSION: Final = 1
#: A longer line is not usable. A line with the assignments of ten thousand members has a tenth of it.
LINE_BYTES_MAX: Final = 16 * 1024 * 1024
#: Numbers beyond it, either way, are not used: Spark keeps times as microseconds in 64 bits.
NUMBER_MAX: Final = (1 << 63) // 1000 - 1

#: With these a group begins another life, and ends one.
BIRTHS: Final = ("group.created", "group.loaded")
DEATHS: Final = ("group.deleted", "group.unloaded")

STARTED: Final = "group.rebalance.started"
#: How a rebalance ended, by the event that ended it. Else it is unfinished: nothing came after it, or the group was
#: loaded again because its broker had been killed.
OUTCOMES: Final[Mapping[str, str]] = {
    "group.rebalance.completed": "completed",
    "group.emptied": "emptied",
    STARTED: "interrupted",
    **dict.fromkeys(DEATHS, "abandoned"),
}
UNFINISHED: Final = "unfinished"
#: All outcomes, in the order of tables.
ALL_OUTCOMES: Final = (*dict.fromkeys(OUTCOMES.values()), UNFINISHED)

#: What happens to a member, by event and, for the removed, by cause.
CHURN: Final[Mapping[str, str]] = {
    "group.member.joined": "joined",
    "group.member.rejoined": "rejoined",
    "group.member.replaced": "replaced",
    "group.member.removed": "removed",
}
REMOVALS: Final[Mapping[str | None, str]] = {"member_left": "left", "session_expired": "expired"}


class JournalLine(NamedTuple):
    """A usable line."""

    t: int
    number: int
    """Orders lines of the same millisecond."""
    seq: int
    group: str
    event: str
    state: str | None
    cause: str | None
    member_id: str | None
    client_id: str | None
    client_host: str | None
    silent_ms: int | None


def line_of(text: bytes) -> JournalLine | None:
    """The line in these bytes; None if it is not usable."""
    if len(text) > LINE_BYTES_MAX:
        return None
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("v") != VERSION:
        return None
    if b"\\ud" in text.lower():  # perhaps half a surrogate pair, which no file and no column can hold
        said = {key: _whole(value) for key, value in said.items()}
    t, seq, group, event = _number(said, "t"), _number(said, "seq"), _text(said, "group"), _text(said, "event")
    if t is None or seq is None or group is None or event is None:
        return None
    number = _number(said, "line")
    return JournalLine(
        t,
        seq if number is None else number,  # old journals have no `line`; `seq` is nearly as good
        seq,
        group,
        event,
        _text(said, "state"),
        _text(said, "cause"),
        _text(said, "member_id"),
        _text(said, "client_id"),
        _text(said, "client_host"),
        _number(said, "silent_ms"),
    )


def _number(said: dict[str, Any], key: str) -> int | None:
    value = said.get(key)
    return value if type(value) is int and -NUMBER_MAX <= value <= NUMBER_MAX else None


def _text(said: dict[str, Any], key: str) -> str | None:
    value = said.get(key)
    return value if isinstance(value, str) else None


def _whole(value: object) -> object:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
