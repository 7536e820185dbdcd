"""What the event loop has to complain of, such as callbacks that raised: it is told like all else.

Left to itself asyncio writes to stderr, in lines of its own: no JSON where machines read, and whatever a client has got
into an error's text straight to the terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ottla.events.kind import Kind

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from ottla.events.stream import Stream


def tell_loop_errors(loop: AbstractEventLoop, events: Stream) -> None:
    """Have the loop's complaints among what happens. Soon, for the destructor of a task may complain at any moment."""

    def tell(_loop: AbstractEventLoop, context: dict[str, Any]) -> None:
        reason = str(context.get("message", ""))
        events.tell_soon(Kind.LOOP_FAILED, raised=context.get("exception"), reason=reason)

    loop.set_exception_handler(tell)
