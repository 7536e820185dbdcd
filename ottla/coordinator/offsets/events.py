"""What groups of every kind are asked and told of their offsets, and that they are to go.

Requests come as the broker's handlers decoded and checked them: authorized, with topics that exist. `token` is the
sender, to be answered.
"""

from __future__ import annotations

from typing import TypeAlias

from ottla.coordinator.runtime.effects import Token
from ottla.coordinator.runtime.frozen import frozen
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.offset_delete import OffsetDeleteRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest


@frozen
class OffsetCommitRequested:
    """Topics by name, and by id where the id is known. Answered with an OffsetCommitResponse of these topics.

    `is_too_large`: what would be written is more than the group log takes in one batch, so it is not tried.
    """

    token: Token
    request: OffsetCommitRequest
    api_version: int
    is_too_large: bool = False


@frozen
class TxnOffsetCommitRequested:
    """Topics by name and id. Answered with a TxnOffsetCommitResponse of these topics.

    `verification`: that the group's partition is part of the transaction, the log's own; None: it is open there.
    """

    token: Token
    request: TxnOffsetCommitRequest
    api_version: int
    verification: object
    is_too_large: bool = False


@frozen
class TransactionEnded:
    """A producer's transaction is over, says its marker: what it committed counts now, or never."""

    producer_id: int
    is_commit: bool


@frozen
class OffsetFetchRequested:
    """One group of an OffsetFetch; topics None: all. Answered with an OffsetFetchResponseGroup."""

    token: Token
    request: OffsetFetchRequest.OffsetFetchRequestGroup
    api_version: int
    require_stable: bool = False


@frozen
class OffsetDeleteRequested:
    """Answered with an OffsetDeleteResponse of these topics."""

    token: Token
    request: OffsetDeleteRequest


@frozen
class DeleteRequested:
    """One group of a DeleteGroups. Answered with a DeletableGroupResult."""

    token: Token


@frozen
class SweepDue:
    """Time to look for expired offsets, and for groups that are no longer needed."""


OffsetsRequest: TypeAlias = (
    OffsetCommitRequested | TxnOffsetCommitRequested | OffsetFetchRequested | OffsetDeleteRequested | DeleteRequested
)
