"""What the event loop has to complain of, such as callbacks that raised: it goes to the log like all else.

Left to itself asyncio writes to stderr, in lines of its own: no JSON where machines read, and whatever a client has got
into an error's text straight to the terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from ottla.broker.log import Log


def log_loop_errors(loop: AbstractEventLoop, log: Log) -> None:
    """Have the loop tell the log."""

    def tell(_loop: AbstractEventLoop, context: dict[str, Any]) -> None:
        _tell(log.bind(exc_info=context.get("exception")), str(context.get("message", "")))

    loop.set_exception_handler(tell)


def _tell(log: Log, reason: str) -> None:
    log.error("loop.failed", reason=reason)
