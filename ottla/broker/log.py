"""Logging: structlog to stderr, pretty on a terminal, JSON lines where machines read.

Events are dotted and in the past tense, their keys are Kafka's words with units; `events.py` lists them all. The logger
is made here and handed down: nothing is configured for the process, which in a test run is the user's, not ours.

Nobody has to read the log. When stderr is closed, or the pipe behind it broken, lines are dropped and the broker goes
on.
"""

from __future__ import annotations

import sys
from typing import Any, Final, TypeAlias

import structlog

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
        processors.append(
            structlog.dev.ConsoleRenderer(colors=is_terminal, exception_formatter=structlog.dev.plain_traceback)
        )
    return structlog.wrap_logger(
        Stderr(), processors=processors, wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level])
    ).bind()


def _in_order(_log: Log, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """First when, how bad, and what."""
    return {**{key: event.pop(key) for key in ("timestamp", "level", "event")}, **event}
