"""Where to begin to read a topic: `--from beginning`, `end`, `-10`, `1234`, `15m`, `2026-11-22T10:00`.

beginning     the oldest record of each partition
end           what comes from now on
-10           the last ten of each partition
1234          this offset
15m           what came in the last 15 minutes; also s, h and d
2026-11-22    what came since; an hour may follow, and a zone: the machine's, if none is said
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class NoStart(ValueError):
    """The words name no place in a topic; the text says what would."""


@dataclass(frozen=True, slots=True)
class FromOffset:
    """An offset; one below 0 counts from the end."""

    offset: int


@dataclass(frozen=True, slots=True)
class FromTime:
    """A time, in milliseconds since 1970."""

    timestamp_ms: int


BEGINNING: Final = FromOffset(0)


def parse_start(text: str, now_ms: int) -> FromOffset | FromTime | None:
    """Where to begin; None: at the end. Raises `NoStart`."""
    match text:
        case "beginning":
            return BEGINNING
        case "end":
            return None
    if re.fullmatch(r"-?\d{1,18}", text, re.ASCII):
        return None if text == "-0" else FromOffset(int(text))
    if ago := re.fullmatch(r"(\d{1,9})([smhd])", text, re.ASCII):
        return FromTime(max(0, now_ms - int(ago[1]) * _MS[ago[2]]))
    try:
        return FromTime(max(0, round(datetime.fromisoformat(text).astimezone().timestamp() * 1000)))
    except (ValueError, OverflowError, OSError):
        raise NoStart(
            f"--from {text} names no place in a topic; write beginning, end, an offset, -10 for the last ten, 15m for "
            "the last 15 minutes, or a time such as 2026-11-22T10:00"
        ) from None
