"""Logging to stderr: JSON lines where machines read, and on a terminal what `console_log` makes of them.

The logger is made here and handed down to the one who writes to it, `log_lines`: nothing is configured for the process,
which in a test run is the user's, not ours.

Nobody has to read the log. When stderr is closed, or the pipe behind it broken, lines are dropped and the broker goes
on.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from typing import Any, Final, Protocol

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
FORMATS: Final = ("console", "json")
_NS_PER_US: Final = 1_000
_US_PER_SECOND: Final = 1_000_000


class Log(Protocol):
    """Where lines go: for each level a method that gets the event and its keys. `exc_info`: what was raised."""

    def is_enabled_for(self, level: int, /) -> bool:
        """Whether something of this level, a number of `LEVELS`, is written."""

    def debug(self, event: str, **keys: Any) -> object:
        """What only those look for who search."""

    def info(self, event: str, **keys: Any) -> object:
        """What happens."""

    def warning(self, event: str, **keys: Any) -> object:
        """What may not be meant so."""

    def error(self, event: str, **keys: Any) -> object:
        """What went wrong."""


def make_log(level: str = "info", log_format: str | None = None) -> Log:
    """A logger for this level and those above. `log_format`: console or json; None: console on a terminal."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    if (log_format or ("console" if is_terminal else "json")) == "json":
        return JsonLog(LEVELS[level])
    # Only now: structlog is a tenth of a broker's start, and takes up `rich`, 4 MB, wherever that is installed.
    from ottla.broker.console_log import make_console_log

    log: Log = make_console_log(LEVELS[level], write_line, has_colours=is_terminal)
    return log


class JsonLog:
    """A line of JSON for each event: first when, how bad, and what. JSON escapes what a terminal might obey."""

    def __init__(self, level: int) -> None:
        self._level = level

    def is_enabled_for(self, level: int, /) -> bool:
        return level >= self._level

    def debug(self, event: str, **keys: Any) -> None:
        self._write("debug", event, keys)

    def info(self, event: str, **keys: Any) -> None:
        self._write("info", event, keys)

    def warning(self, event: str, **keys: Any) -> None:
        self._write("warning", event, keys)

    def error(self, event: str, **keys: Any) -> None:
        self._write("error", event, keys)

    def _write(self, level: str, event: str, keys: dict[str, Any]) -> None:
        if LEVELS[level] < self._level:
            return
        raised: BaseException | None = keys.pop("exc_info", None)
        line = {"timestamp": _now(), "level": level, "event": event, **keys}
        if raised is not None:
            line["exception"] = "".join(traceback.format_exception(raised)).removesuffix("\n")
        write_line(json.dumps(line, default=repr))


def write_line(line: str) -> None:
    """Write to whatever is stderr at the moment, as long as somebody takes it."""
    stream = sys.stderr
    if stream is None:
        return
    try:
        stream.write(line + "\n")
        stream.flush()
    except (OSError, ValueError):
        pass  # a broken pipe, or a closed file


def _now() -> str:
    """The time in UTC, as ISO 8601 has it, with microseconds."""
    seconds, microseconds = divmod(time.time_ns() // _NS_PER_US, _US_PER_SECOND)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{microseconds:06}Z"
