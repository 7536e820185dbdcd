"""How answers about transactions are shown to people."""

from __future__ import annotations

from typing import Final

from ottla.terminal.output import Columns, Item, print_line, print_table


def _coordinator(one: Item) -> str:
    broker = one["coordinator"]
    return f"{broker['node_id']} at {broker['host']}:{broker['port']}"


def _minutes(one: Item) -> int:
    return int(one["duration_ms"]) // 60_000


_LISTED: Final[Columns] = {
    "TRANSACTIONAL ID": "transactional_id",
    "STATE": "state",
    "PRODUCER": "producer_id",
    "COORDINATOR": _coordinator,
}
_DESCRIBED: Final[Columns] = {
    "TRANSACTIONAL ID": "transactional_id",
    "STATE": "state",
    "PRODUCER": "producer_id",
    "EPOCH": "producer_epoch",
    "TIMEOUT MS": "timeout_ms",
    "START MS": "start_ms",
    "OPEN MS": "duration_ms",
    "PARTITIONS": lambda one: len(one["partitions"]),
    "COORDINATOR": _coordinator,
}
_PARTITIONS: Final[Columns] = {"TOPIC": "topic", "PARTITION": "partition"}
_PRODUCER: Final[Columns] = {
    "PRODUCER": "producer_id",
    "EPOCH": "producer_epoch",
    "COORDINATOR EPOCH": "coordinator_epoch",
}
_PRODUCERS: Final[Columns] = {
    **_PRODUCER,
    "LAST SEQUENCE": "last_sequence",
    "LAST TIMESTAMP": "last_timestamp",
    "TXN START": "transaction_start_offset",
}
_HANGING: Final[Columns] = {
    **_PARTITIONS,
    **_PRODUCER,
    "TXN START": "transaction_start_offset",
    "LAST TIMESTAMP": "last_timestamp",
    "OPEN MINUTES": _minutes,
    "TRANSACTIONAL ID": "transactional_id",
}


def print_list(transactions: list[Item]) -> None:
    """A line each."""
    print_table(transactions, _LISTED)


def print_described(transactions: list[Item]) -> None:
    """A line each, and below them the partitions of those that have some."""
    print_table(transactions, _DESCRIBED)
    of_several: Columns = {"TRANSACTIONAL ID": "transactional_id", **_PARTITIONS}
    rows = [{**one, **place} for one in transactions for place in one["partitions"]]
    if rows:
        print_line()
        print_table(rows, _PARTITIONS if len(transactions) == 1 else of_several)


def print_producers(producers: list[Item]) -> None:
    """A line each."""
    print_table(producers, _PRODUCERS)


def print_hanging(transactions: list[Item]) -> None:
    """A line each."""
    print_table(transactions, _HANGING)


def print_aborted(one: Item) -> None:
    """What was done."""
    print_line(
        f"aborted the transaction of producer {one['producer_id']} with epoch {one['producer_epoch']} "
        f"in partition {one['partition']} of {one['topic']}"
    )


def print_terminated(one: Item) -> None:
    """What was done."""
    print_line(
        f"{one['transactional_id']} was {one['state']}; its producer is fenced, the next one's id is "
        f"{one['producer_id']} with an epoch after {one['producer_epoch']}"
    )
