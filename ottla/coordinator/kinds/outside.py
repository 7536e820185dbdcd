"""What a request is answered that gets to no group: the coordinator, the partition or a group of its kind isn't there.

    NOT_STARTED, EMPTY_GROUP_ID, BAD_SESSION_TIMEOUT, NOT_COORDINATOR, LOADING, ABSENT, OTHER_KIND      the first that
    applies counts; FAILED is for the request at which a group has met a bug

Each class of requests has a `RequestRow`. Requests of a kind of group stand with that kind; those that every kind takes
are in `groups/refusals.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.coordinator.config import GroupConfig
    from ottla.protocol.primitives import Message


class Outside(Enum):
    """Why a request does not get to a group."""

    NOT_STARTED = "the coordinator is not running"
    EMPTY_GROUP_ID = 'the group id is ""'
    BAD_SESSION_TIMEOUT = "the session timeout is out of bounds"
    NOT_COORDINATOR = "another node coordinates the group"
    LOADING = "the coordinator is loading the group's partition"
    ABSENT = "the group does not exist"
    OTHER_KIND = "the group is of another kind"
    FAILED = "the request raised an exception in the group (a bug)"

    __hash__ = object.__hash__


NO_GROUP: Final = frozenset((Outside.ABSENT, Outside.OTHER_KIND))
"""There is no group that could take the request."""

#: What is answered for each reason; None: that is no reason to refuse the request.
Errors = Mapping[Outside, ErrorCode | None]


def errors(empty_group_id: ErrorCode | None, *, absent: ErrorCode, other_kind: ErrorCode | None = None) -> Errors:
    """What is answered for each reason, in most requests; `other_kind`: None for those that every kind takes."""
    return {
        Outside.NOT_STARTED: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        Outside.EMPTY_GROUP_ID: empty_group_id,
        Outside.BAD_SESSION_TIMEOUT: None,
        Outside.NOT_COORDINATOR: ErrorCode.NOT_COORDINATOR,
        Outside.LOADING: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        Outside.ABSENT: absent,
        Outside.OTHER_KIND: other_kind,
        Outside.FAILED: ErrorCode.UNKNOWN_SERVER_ERROR,
    }


def _never(_event: Any) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class RequestRow:
    """A class of requests of groups."""

    api: str
    """Kafka's name of it."""
    errors: Errors
    shape: Callable[[str, Any, Outside, ErrorCode], Message]
    """(group_id, event, reason, error) -> the answer."""
    creates_group: Callable[[Any], bool] = _never
    """Whether this request makes the group that is absent."""
    allows_session: Callable[[Any, GroupConfig], bool] | None = None
    """Whether the session timeout in it is within bounds; None: it has none."""

    def refusal(self, group_id: str, event: Any, outside: Outside) -> Message:
        """The answer to a request that is refused for this reason."""
        error = self.errors[outside]
        assert error is not None
        return self.shape(group_id, event, outside, error)
