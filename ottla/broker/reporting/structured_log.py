"""Logging to stderr: JSON lines where machines read, and on a terminal what `console_log` makes of them.

The logger is made here and handed down to `log_lines`, which writes to it: nothing is configured for the process,
which in a test run is the user's, not ours.

The log need not be read. When stderr is closed, or the pipe behind it broken, lines are dropped and the broker goes on.
`ottla serve` writes through a `line_writer`, which a full pipe does not stop either.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, Protocol, TypeAlias

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
FORMATS: Final = ("console", "json")
_NS_PER_US: Final = 1_000
_US_PER_SECOND: Final = 1_000_000

#: Takes a line of the log, without its end.
WriteLine: TypeAlias = Callable[[str], object]


class Log(Protocol):
    """Where lines go: for each level a method that gets the event and its keys. `exc_info`: what was raised."""

    def is_enabled_for(self, level: int, /) -> bool:
        """Whether something of this level, a number of `LEVELS`, is written."""

    def debug(self, event: str, **keys: Any) -> object:
        """For readers who search for a cause."""

    def info(self, event: str, **keys: Any) -> object:
        """What happens."""

    def warning(self, event: str, **keys: Any) -> object:
        """What may not be meant so."""

    def error(self, event: str, **keys: Any) -> object:
        """What went wrong."""


def write_line(line: str) -> None:
    """Write to whatever is stderr at the moment. A reader that does not read stops the caller."""
    stream = sys.stderr
    if stream is None:
        return
    try:
        stream.write(line + "\n")
        stream.flush()
    except (OSError, ValueError):
        pass  # a broken pipe, or a closed file


def make_log(level: str = "info", log_format: str | None = None, write: WriteLine = write_line) -> Log:
    """A logger for this level and those above. `log_format`: console or json; None: console on a terminal."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    if (log_format or ("console" if is_terminal else "json")) == "json":
        return JsonLog(LEVELS[level], write)
    return ConsoleLog(LEVELS[level], write, has_colours=is_terminal)


class _Levels(ABC):
    """A log that writes what is of its level and above."""

    def __init__(self, level: int, write: WriteLine) -> None:
        self._level = level
        self._write_line = write

    def is_enabled_for(self, level: int, /) -> bool:
        return level >= self._level

    def debug(self, event: str, **keys: Any) -> None:
        self._tell("debug", event, keys)

    def info(self, event: str, **keys: Any) -> None:
        self._tell("info", event, keys)

    def warning(self, event: str, **keys: Any) -> None:
        self._tell("warning", event, keys)

    def error(self, event: str, **keys: Any) -> None:
        self._tell("error", event, keys)

    def _tell(self, level: str, event: str, keys: dict[str, Any]) -> None:
        if self.is_enabled_for(LEVELS[level]):
            self._write(level, event, keys)

    @abstractmethod
    def _write(self, level: str, event: str, keys: dict[str, Any]) -> None:
        """Write the line."""


class JsonLog(_Levels):
    """A line of JSON for each event: first when, how bad, and what. JSON escapes what a terminal might obey."""

    def _write(self, level: str, event: str, keys: dict[str, Any]) -> None:
        raised: BaseException | None = keys.pop("exc_info", None)
        line = {"timestamp": _now(), "level": level, "event": event, **keys}
        if raised is not None:
            line["exception"] = "".join(traceback.format_exception(raised)).removesuffix("\n")
        self._write_line(json.dumps(line, default=repr))


class ConsoleLog(_Levels):
    """Columns for people, by structlog."""

    def __init__(self, level: int, write: WriteLine, *, has_colours: bool) -> None:
        super().__init__(level, write)
        self._has_colours = has_colours

    def _write(self, level: str, event: str, keys: dict[str, Any]) -> None:
        getattr(self._columns, level)(event, **keys)

    @cached_property
    def _columns(self) -> Log:
        # Only now: structlog takes as long as half of a broker's start, and takes up `rich`, 4 MB, wherever that is
        # installed. The brokers of most tests never write a line.
        from ottla.broker.reporting.console_log import make_console_log

        log: Log = make_console_log(self._level, self._write_line, has_colours=self._has_colours)
        return log


def _now() -> str:
    """The time in UTC, as ISO 8601 has it, with microseconds."""
    seconds, microseconds = divmod(time.time_ns() // _NS_PER_US, _US_PER_SECOND)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{microseconds:06}Z"
