"""What a group writes, held before it is written: commits, members, assignments.

The group does nothing else until it is decided about: what it is asked meanwhile waits behind it. Who can't wait, such
as an admin's hand in the group or a node that gives it away, has it written first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

from ottla.control.faults.keeping import How, Keeping, Kept
from ottla.control.faults.misuse import BadFault
from ottla.coordinator.runtime.holding import AppendHeld
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.coordinator.runtime.effects import Writer
    from ottla.coordinator.runtime.log import Log as GroupLog
    from ottla.coordinator.runtime.records import Record
    from ottla.protocol.primitives import Message

APPEND: Final = "append"


class RefusingLog:
    """Says this error to every append."""

    def __init__(self, error: ErrorCode) -> None:
        self._error = error

    def append(self, _partition: int, _records: Sequence[Record], /) -> ErrorCode:
        return self._error

    def append_in_transaction(self, _partition: int, _records: Sequence[Record], _writer: Writer, /) -> ErrorCode:
        return self._error


class HeldAppend(Kept):
    """What a group writes, and is held."""

    def __init__(self, number: int, group_id: str, real: GroupLog, told: Callable[[HeldAppend], object]) -> None:
        """`real`: the log that it is written to when it is let go."""
        super().__init__(number, told)
        self.held = AppendHeld(self.let_go)
        self._group_id = group_id
        self._real = real

    @property
    def what(self) -> str:
        return f"append of {self._group_id}"

    @property
    def at(self) -> str:
        return APPEND

    @property
    def group_id(self) -> str:
        return self._group_id

    @property
    def is_gone(self) -> bool:
        return False

    def refuse(self, error: ErrorCode) -> None:
        """Nothing is written, as if the log had said this."""
        if error is ErrorCode.NONE:
            raise BadFault(f"{self.what} can't be refused with NONE; let it go")
        self._decide(How.REFUSED)
        self.held.go_on(RefusingLog(error))

    def lose(self) -> NoReturn:
        raise BadFault(
            f"{self.what} can't be lost, its group would wait for ever; let it go, refuse it, or lose_record()"
        )

    def change(self, **fields: Any) -> None:
        """There is nothing to change: raises `BadFault` unless that is what is asked."""
        if fields:
            self.replace(None)

    def replace(self, message: Message | None) -> NoReturn:
        raise BadFault(f"{self.what} has nothing to change; let it go or refuse it")

    def _go_on(self) -> None:
        self.held.go_on(self._real)


class HoldAppends(Keeping[HeldAppend]):
    """Holds what groups write."""

    text = "hold it"

    def hold(self, group_id: str, real: GroupLog) -> AppendHeld:
        """Keep it until somebody decides about it; returns what the group's owner is told."""
        self.keep(lambda number, told: HeldAppend(number, group_id, real, told))
        return self.all[-1].held
