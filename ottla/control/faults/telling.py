"""What is told of all that is held: that it is, and what became of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ottla.control.faults.appends import HeldAppend, HoldAppends
from ottla.control.faults.barrier import Held
from ottla.control.faults.deadlines import HeldDeadline, HoldDeadlines
from ottla.events.kind import Kind

if TYPE_CHECKING:
    from ottla.control.faults.fault import Fault
    from ottla.control.faults.keeping import Keeping
    from ottla.events.stream import Stream


def tell_of(hold: Keeping[Any], fault: Fault, events: Stream) -> None:
    """Have what this hold does told from now on."""
    if isinstance(hold, HoldDeadlines):
        hold.on_held = partial(_tell_deadline_held, events, fault)
        hold.on_decided = partial(_tell_deadline_decided, events, fault)
    elif isinstance(hold, HoldAppends):
        hold.on_held = partial(_tell_append_held, events, fault)
        hold.on_decided = partial(_tell_append_decided, events, fault)
    else:
        hold.on_held = partial(_tell_held, events, fault)
        hold.on_decided = partial(_tell_decided, events, fault)


def _tell_held(events: Stream, fault: Fault, held: Held) -> None:
    events.tell(
        Kind.REQUEST_HELD,
        node_id=held.call.node.node_id,
        fault_id=fault.number,
        number=held.number,
        api=held.api,
        client_id=held.client_id,
        group_id=held.group_id,
        member_id=held.member_id,
        at=held.at,
    )


def _tell_decided(events: Stream, fault: Fault, held: Held) -> None:
    assert held.how is not None
    events.tell(
        Kind.REQUEST_LET_GO,
        fault_id=fault.number,
        number=held.number,
        api=held.api,
        client_id=held.client_id,
        how=held.how.value,
    )


def _tell_deadline_held(events: Stream, fault: Fault, held: HeldDeadline) -> None:
    events.tell(
        Kind.DEADLINE_HELD,
        node_id=held.node_id,
        fault_id=fault.number,
        number=held.number,
        deadline=held.at,
        group_id=held.group_id,
        member_id=held.member_id,
    )


def _tell_deadline_decided(events: Stream, fault: Fault, held: HeldDeadline) -> None:
    assert held.how is not None
    events.tell(
        Kind.DEADLINE_LET_GO,
        node_id=held.node_id,
        fault_id=fault.number,
        number=held.number,
        deadline=held.at,
        group_id=held.group_id,
        member_id=held.member_id,
        how=held.how.value,
        is_void=held.is_gone,
    )


def _tell_append_held(events: Stream, fault: Fault, held: HeldAppend) -> None:
    events.tell(Kind.APPEND_HELD, fault_id=fault.number, number=held.number, group_id=held.group_id)


def _tell_append_decided(events: Stream, fault: Fault, held: HeldAppend) -> None:
    assert held.how is not None
    how = held.how.value
    events.tell(Kind.APPEND_LET_GO, fault_id=fault.number, number=held.number, group_id=held.group_id, how=how)
