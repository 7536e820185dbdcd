"""Logging: structlog to stderr, pretty on a terminal, JSON lines where machines read.

The logger is made here and handed down to the one who writes to it, `log_lines`: nothing is configured for the process,
which in a test run is the user's, not ours.

What clients have chosen, ids and reasons say, never gets to a terminal as it is. The console shows a text that isn't
printable as Python writes it, `'a\\x1b[2Jb'`, and sets tracebacks off, so that nothing in them passes for a line of the
log. JSON escapes all that by itself.

Nobody has to read the log. When stderr is closed, or the pipe behind it broken, lines are dropped and the broker goes
on.
"""

from __future__ import annotations

import sys
from io import StringIO
from typing import Any, Final, TextIO, TypeAlias

import structlog

from ottla.terminal.printable import printable

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
FORMATS: Final = ("console", "json")

#: A structlog logger; what can be called on it depends on how it was made.
Log: TypeAlias = Any


class Stderr:
    """Prints lines to whatever is stderr at the moment, as long as somebody takes them."""

    def msg(self, line: str) -> None:
        stream = sys.stderr
        if stream is None:
            return
        try:
            stream.write(line + "\n")
            stream.flush()
        except (OSError, ValueError):
            pass  # a broken pipe, or a closed file

    debug = info = warning = error = exception = msg


def make_log(level: str = "info", log_format: str | None = None) -> Log:
    """A logger for this level and those above. `log_format`: console or json; None: console on a terminal."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    processors: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if (log_format or ("console" if is_terminal else "json")) == "json":
        processors += [structlog.processors.format_exc_info, _in_order, structlog.processors.JSONRenderer()]
    else:
        processors += [
            _escaped,
            structlog.dev.ConsoleRenderer(colors=is_terminal, exception_formatter=_escaped_traceback),
        ]
    return structlog.wrap_logger(
        Stderr(), processors=processors, wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level])
    ).bind()


class _Quoted:
    """A text that is shown as Python writes it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return repr(self._text)


def _escaped(_log: Log, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Have texts with anything in them that a terminal might obey quoted. All else is shown by its `repr`."""
    for key, value in event.items():
        if isinstance(value, str) and not value.isprintable():
            event[key] = _Quoted(value)
    return event


def _escaped_traceback(out: TextIO, exc_info: structlog.typing.ExcInfo) -> None:
    """Write a traceback below its line, a little to the right."""
    plain = StringIO()
    structlog.dev.plain_traceback(plain, exc_info)
    for line in plain.getvalue().strip("\n").split("\n"):
        out.write(f"\n    {printable(line)}")


def _in_order(_log: Log, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """First when, how bad, and what."""
    return {**{key: event.pop(key) for key in ("timestamp", "level", "event")}, **event}
