"""A record as a line for people: its place, its time, and its bytes as text."""

from __future__ import annotations

from datetime import UTC, datetime

from ottla.text.record_json import WrittenRecord


def text_line(partition: int, offset: int, record: WrittenRecord) -> str:
    """A record as a line for people."""
    time = "-" if record.timestamp_ms is None or record.timestamp_ms < 0 else _time_text(record.timestamp_ms)
    words = [f"{partition}:{offset}", time, _shown(record.key), _shown(record.value)]
    words += [f"{name}={_shown(value)}" for name, value in record.headers]
    return "  ".join(words)


def _time_text(timestamp_ms: int) -> str:
    try:
        date = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
    return date.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(data: bytes | None) -> str:
    """Bytes for people; `-` where there are none, and an escape for what is no text."""
    return "-" if data is None else data.decode("utf-8", "backslashreplace")
