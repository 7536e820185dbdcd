"""The requests that groups of every kind take, and what they are answered where there is no group.

Made-up ids end there and leave nothing behind. A commit without generation makes the group that is absent, in a
transaction or not. Kafka: GroupCoordinatorService; GroupIdNotFoundException elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ottla.coordinator.kinds.outside import Outside, RequestRow, errors
from ottla.coordinator.offsets import answers
from ottla.coordinator.offsets.events import (
    DeleteRequested,
    OffsetCommitRequested,
    OffsetDeleteRequested,
    OffsetFetchRequested,
    TxnOffsetCommitRequested,
)
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_fetch import OffsetFetchResponse

if TYPE_CHECKING:
    from ottla.coordinator.kinds.kind import Kinds
    from ottla.protocol.primitives import Message

_COMMIT_WITH_NOT_FOUND: Final = 9
_TRANSACTIONAL_COMMIT_WITH_NOT_FOUND: Final = 6

_E = ErrorCode


def _creates_group(event: OffsetCommitRequested | TxnOffsetCommitRequested) -> bool:
    return event.request.generation_id_or_member_epoch < 0


def _commit(_group_id: str, event: OffsetCommitRequested, outside: Outside, error: ErrorCode) -> Message:
    if outside is Outside.ABSENT and event.api_version < _COMMIT_WITH_NOT_FOUND:
        error = ErrorCode.ILLEGAL_GENERATION
    return answers.commit_refused(event.request, error)


def _transactional_commit(
    _group_id: str, event: TxnOffsetCommitRequested, outside: Outside, error: ErrorCode
) -> Message:
    if outside is Outside.ABSENT and event.api_version < _TRANSACTIONAL_COMMIT_WITH_NOT_FOUND:
        error = ErrorCode.ILLEGAL_GENERATION
    return answers.transactional_commit_refused(event.request, error)


def _fetch(group_id: str, event: OffsetFetchRequested, outside: Outside, error: ErrorCode) -> Message:
    """A group that is absent has committed nothing, which is no error."""
    if outside is Outside.ABSENT:
        return OffsetFetchResponse.OffsetFetchResponseGroup(group_id, answers.nothing_committed(event), error)
    return answers.fetch_refused(event, error)


# For some of these the group "" is as good as any: it is where consumers without a group id once kept their offsets.
OF_EVERY_KIND: Final[Mapping[type, RequestRow]] = {
    OffsetCommitRequested: RequestRow(
        "OffsetCommit", errors(None, absent=_E.GROUP_ID_NOT_FOUND), _commit, creates_group=_creates_group
    ),
    TxnOffsetCommitRequested: RequestRow(
        "TxnOffsetCommit",
        errors(_E.INVALID_GROUP_ID, absent=_E.GROUP_ID_NOT_FOUND),
        _transactional_commit,
        creates_group=_creates_group,
    ),
    OffsetFetchRequested: RequestRow("OffsetFetch", errors(None, absent=_E.NONE), _fetch),
    OffsetDeleteRequested: RequestRow(
        "OffsetDelete",
        errors(_E.INVALID_GROUP_ID, absent=_E.GROUP_ID_NOT_FOUND),
        lambda _group_id, _event, _outside, error: answers.offset_delete_refused(error),
    ),
    DeleteRequested: RequestRow(
        "DeleteGroups",
        errors(None, absent=_E.GROUP_ID_NOT_FOUND),
        lambda group_id, _event, _outside, error: answers.delete_answered(group_id, error),
    ),
}


def all_requests(kinds: Kinds) -> dict[type, RequestRow]:
    """Every class of requests that groups of these kinds take."""
    of_kinds = {event: row for kind in kinds.values() for event, row in kind.requests.items()}
    return {**of_kinds, **OF_EVERY_KIND}
