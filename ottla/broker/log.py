"""Logging: structlog to stderr, pretty on a terminal, JSON lines where machines read.

Events are dotted and in the past tense, their keys are Kafka's words with units; `events.py` lists them all.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import structlog

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
FORMATS: Final = ("console", "json")


def configure(level: str, log_format: str) -> Any:
    """Set up logging for the process and return the logger."""
    renderer: Any
    if log_format == "json":
        renderer = structlog.processors.JSONRenderer()
    else:
        renderer = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *([structlog.processors.format_exc_info] if log_format == "json" else []),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    return structlog.get_logger()
