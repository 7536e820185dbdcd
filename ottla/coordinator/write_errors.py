"""What a failed append is called in the answer that waits for it. An error not named here keeps its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ottla.protocol.errors import ErrorCode

_E = ErrorCode

#: Of group records.
#: Kafka: GroupMetadataManager.appendGroupMetadataErrorToResponseError.
GROUP_WRITE_ERRORS: Final[Mapping[ErrorCode, ErrorCode]] = {
    _E.UNKNOWN_TOPIC_OR_PARTITION: _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_ENOUGH_REPLICAS: _E.COORDINATOR_NOT_AVAILABLE,
    _E.REQUEST_TIMED_OUT: _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_LEADER_OR_FOLLOWER: _E.NOT_COORDINATOR,
    _E.KAFKA_STORAGE_ERROR: _E.NOT_COORDINATOR,
    _E.MESSAGE_TOO_LARGE: _E.UNKNOWN_SERVER_ERROR,
    _E.RECORD_LIST_TOO_LARGE: _E.UNKNOWN_SERVER_ERROR,
    _E.INVALID_FETCH_SIZE: _E.UNKNOWN_SERVER_ERROR,
}

#: Of everything else. Kafka: CoordinatorOperationExceptionHelper.handleOperationException.
WRITE_ERRORS: Final[Mapping[ErrorCode, ErrorCode]] = {
    **GROUP_WRITE_ERRORS,
    _E.NETWORK_EXCEPTION: _E.COORDINATOR_LOAD_IN_PROGRESS,
}

#: Of what an OffsetFetch waits for: older clients don't know COORDINATOR_NOT_AVAILABLE there.
#: Kafka: GroupCoordinatorService.handleOffsetFetchException.
FETCH_WRITE_ERRORS: Final[Mapping[ErrorCode, ErrorCode]] = {
    **WRITE_ERRORS,
    _E.UNKNOWN_TOPIC_OR_PARTITION: _E.NOT_COORDINATOR,
    _E.NOT_ENOUGH_REPLICAS: _E.NOT_COORDINATOR,
    _E.REQUEST_TIMED_OUT: _E.NOT_COORDINATOR,
}

#: Of transactional ids. Kafka: TransactionStateManager.appendTransactionToLog.
TRANSACTION_WRITE_ERRORS: Final[Mapping[ErrorCode, ErrorCode]] = {
    _E.UNKNOWN_TOPIC_OR_PARTITION: _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_ENOUGH_REPLICAS: _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _E.COORDINATOR_NOT_AVAILABLE,
    _E.REQUEST_TIMED_OUT: _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_LEADER_OR_FOLLOWER: _E.NOT_COORDINATOR,
    _E.KAFKA_STORAGE_ERROR: _E.NOT_COORDINATOR,
    _E.MESSAGE_TOO_LARGE: _E.UNKNOWN_SERVER_ERROR,
    _E.RECORD_LIST_TOO_LARGE: _E.UNKNOWN_SERVER_ERROR,
}
