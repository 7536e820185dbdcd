"""The log for people, by structlog: columns, and colours on a terminal.

What clients have chosen, ids and reasons say, never gets to a terminal as it is. A text that isn't printable is shown
as Python writes it, `'a\\x1b[2Jb'`, and tracebacks are set off, so that nothing in them passes for a line of the log.
"""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, Any, TextIO

import structlog

from ottla.terminal.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable


def make_console_log(level: int, write_line: Callable[[str], object], *, has_colours: bool) -> Any:
    """A structlog logger for this level and those above, as `structured_log.Log` has it."""
    return structlog.wrap_logger(
        _Lines(write_line),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _escaped,
            structlog.dev.ConsoleRenderer(colors=has_colours, exception_formatter=_escaped_traceback),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
    ).bind()


class _Lines:
    """What structlog writes rendered lines to."""

    def __init__(self, write_line: Callable[[str], object]) -> None:
        self.debug = self.info = self.warning = self.error = write_line


class _Quoted:
    """A text that is shown as Python writes it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return repr(self._text)


def _escaped(_log: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
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
