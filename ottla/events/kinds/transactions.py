"""Transactions, their producers, and the log that they are kept in."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.row import Row

_OF_PRODUCER: Final = ("transactional_id", "producer_id", "producer_epoch")

TRANSACTION_PRODUCER_INITIALIZED: Final = Row(
    "transaction.producer.initialized",
    "debug",
    (*_OF_PRODUCER, "client_id"),
    "A producer has its id and epoch under a transactional id.",
)
TRANSACTION_PRODUCER_FENCED: Final = Row(
    "transaction.producer.fenced",
    "info",
    (*_OF_PRODUCER, "cause", "client_id"),
    "A producer with an open transaction may not go on: its time is up, or somebody else has begun under its "
    "transactional id, whose `client_id` that is.",
)
TRANSACTION_BEGAN: Final = Row(
    "transaction.began",
    "debug",
    (*_OF_PRODUCER, "partitions"),
    "A transaction has its first partitions.",
)
TRANSACTION_PARTITIONS_ADDED: Final = Row(
    "transaction.partitions.added",
    "debug",
    (*_OF_PRODUCER, "partitions"),
    "It has so many more.",
)
TRANSACTION_PREPARED: Final = Row(
    "transaction.prepared",
    "debug",
    (*_OF_PRODUCER, "result", "cause", "partitions"),
    "It is decided: `commit` or `abort`. So many partitions get a marker.",
)
TRANSACTION_COMMITTED: Final = Row(
    "transaction.committed",
    "debug",
    (*_OF_PRODUCER, "duration_ms"),
    "All markers are written.",
)
TRANSACTION_ABORTED: Final = Row(
    "transaction.aborted", "debug", (*_OF_PRODUCER, "duration_ms"), "All markers are written."
)
TRANSACTION_ID_EXPIRED: Final = Row(
    "transaction.id.expired",
    "debug",
    _OF_PRODUCER,
    "A transactional id was not used for too long and is forgotten.",
)
TRANSACTION_WRITE_FAILED: Final = Row(
    "transaction.write.failed",
    "error",
    (*_OF_PRODUCER, "error"),
    "__transaction_state took no record. Said once for a reason, until it has not happened for a minute.",
)
TRANSACTIONS_FAILED: Final = Row(
    "transactions.failed",
    "error",
    ("partition", "reason"),
    "The transactional ids of a partition of __transaction_state met a bug of ours, with its traceback. They are "
    "read anew from their log. Said once for a reason within an hour.",
)
TRANSACTIONS_RECOVERED: Final = Row("transactions.recovered", "info", ("partition",), "They are coordinated again.")
TRANSACTION_LOG_LOADED: Final = Row(
    "transaction_log.loaded",
    "info",
    ("partition", "duration_ms"),
    "A partition of __transaction_state was read, and its transactional ids are coordinated from now on.",
)
TRANSACTION_LOG_LOAD_FAILED: Final = Row(
    "transaction_log.load.failed",
    "error",
    ("partition", "reason"),
    "A partition of __transaction_state can't be read. Its transactional ids have no coordinator.",
)
TRANSACTION_LOG_RECORDS_IGNORED: Final = Row(
    "transaction_log.records.ignored",
    "warning",
    ("partition", "record_type", "records"),
    "A partition of __transaction_state has records of a type that isn't known here.",
)
