"""Transactions, their producers, and the log that they are kept in."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.event_kind import EventKind, Once

_OF_PRODUCER: Final = ("transactional_id", "producer_id", "producer_epoch")


class TransactionEvents:
    """The kinds, by their names in code."""

    TRANSACTION_PRODUCER_INITIALIZED: Final = EventKind(
        "transaction.producer.initialized",
        "debug",
        (*_OF_PRODUCER, "client_id"),
        "A producer was given its id and epoch under a transactional id.",
    )
    TRANSACTION_PRODUCER_FENCED: Final = EventKind(
        "transaction.producer.fenced",
        "info",
        (*_OF_PRODUCER, "cause", "client_id"),
        "A producer with an open transaction was fenced: its timeout is over, or another client has called "
        "InitProducerId under its transactional id. `client_id` is that client.",
    )
    TRANSACTION_BEGAN: Final = EventKind(
        "transaction.began",
        "debug",
        (*_OF_PRODUCER, "partitions"),
        "A transaction got its first partitions.",
    )
    TRANSACTION_PARTITIONS_ADDED: Final = EventKind(
        "transaction.partitions.added",
        "debug",
        (*_OF_PRODUCER, "partitions"),
        "`partitions` more partitions were added to a transaction.",
    )
    TRANSACTION_PREPARED: Final = EventKind(
        "transaction.prepared",
        "debug",
        (*_OF_PRODUCER, "result", "cause", "partitions"),
        "The end of a transaction is decided: `commit` or `abort`. `partitions` partitions get a marker.",
    )
    TRANSACTION_COMMITTED: Final = EventKind(
        "transaction.committed",
        "debug",
        (*_OF_PRODUCER, "duration_ms"),
        "All markers of a commit are written.",
    )
    TRANSACTION_ABORTED: Final = EventKind(
        "transaction.aborted", "debug", (*_OF_PRODUCER, "duration_ms"), "All markers of an abort are written."
    )
    TRANSACTION_ID_EXPIRED: Final = EventKind(
        "transaction.id.expired",
        "debug",
        _OF_PRODUCER,
        "A transactional id was not used for too long and was removed.",
    )
    TRANSACTION_WRITE_FAILED: Final = EventKind(
        "transaction.write.failed",
        "error",
        (*_OF_PRODUCER, "error"),
        "A record could not be written to __transaction_state. Logged once for each reason, and again after a minute "
        "without it.",
        once=Once(("transactional_id", "what"), "error", 60_000),
    )
    TRANSACTIONS_FAILED: Final = EventKind(
        "transactions.failed",
        "error",
        ("partition", "reason"),
        "The coordinator of a partition of __transaction_state raised an exception (a bug), with its traceback. Its "
        "transactional ids are read again from their log. Logged at most once an hour for each reason.",
    )
    TRANSACTIONS_RECOVERED: Final = EventKind(
        "transactions.recovered",
        "info",
        ("partition",),
        "The transactional ids of a partition of __transaction_state are coordinated again.",
    )
    TRANSACTION_LOG_LOADED: Final = EventKind(
        "transaction_log.loaded",
        "info",
        ("partition", "duration_ms"),
        "A partition of __transaction_state was read; this node now coordinates its transactional ids.",
    )
    TRANSACTION_LOG_LOAD_FAILED: Final = EventKind(
        "transaction_log.load.failed",
        "error",
        ("partition", "reason"),
        "A partition of __transaction_state can't be read. Its transactional ids have no coordinator.",
    )
    TRANSACTION_LOG_RECORDS_IGNORED: Final = EventKind(
        "transaction_log.records.ignored",
        "warning",
        ("partition", "record_type", "records"),
        "A partition of __transaction_state has records of an unknown type.",
    )


#: The kinds that coordinators make notes of.
NOTED: Final = tuple(
    kind
    for kind in vars(TransactionEvents).values()
    if isinstance(kind, EventKind) and "transactional_id" in (*kind.keys, *kind.keys_unlogged)
)
