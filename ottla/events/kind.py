"""The kinds of events: every name, the level it is logged at, its keys, and when it is told.

Nothing is told that is not in here; docs/logs.md is printed from it, and tests hold both. The rows are in `kinds/`, by
what they tell of. A kind without a level is not logged: it is for readers in the broker, the control API and tests. The
kinds of groups are those of the coordinator's notes, which also make the journal.

A key is left out when it has no value. Every event has its sequence and its two times, and `node_id` where it concerns
one node.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final, Self

from ottla.events.kinds import broker, faults, groups, network, nodes, storage, topics, transactions
from ottla.events.kinds.row import Level


class Kind(Enum):
    """What can happen. Its value is its name, in the past tense, with dots."""

    level: Level | None
    """At which it is logged; None: it is not."""
    keys: tuple[str, ...]
    """The details it can have, in the order in which the log has them."""
    keys_unlogged: tuple[str, ...]
    """Further details, which the log leaves out."""
    when: str
    """What it means, for people."""

    def __new__(cls, *row: Any) -> Self:
        """Enum hands over what is in the `Row`."""
        kind = object.__new__(cls)
        kind._value_, kind.level, kind.keys, kind.when, kind.keys_unlogged = row
        return kind

    # The broker

    BROKER_STOP_REQUESTED = broker.BROKER_STOP_REQUESTED
    BROKER_STOPPED = broker.BROKER_STOPPED
    CLOCK_STOPPED = broker.CLOCK_STOPPED
    SETTING_IGNORED = broker.SETTING_IGNORED
    SETTING_STORED = broker.SETTING_STORED
    JOURNAL_ABANDONED = broker.JOURNAL_ABANDONED
    LOG_LINES_DROPPED = broker.LOG_LINES_DROPPED
    TASK_FAILED = broker.TASK_FAILED
    JOB_FAILED = broker.JOB_FAILED
    TIMER_FAILED = broker.TIMER_FAILED
    CLOSE_FAILED = broker.CLOSE_FAILED
    ROUND_FAILED = broker.ROUND_FAILED
    ROUND_RECOVERED = broker.ROUND_RECOVERED
    CONTROL_FAILED = broker.CONTROL_FAILED
    LOOP_FAILED = broker.LOOP_FAILED
    TIME_ADVANCED = broker.TIME_ADVANCED
    BROKER_RESET = broker.BROKER_RESET
    BROKER_RESTORED = broker.BROKER_RESTORED
    SEED_PLANTED = broker.SEED_PLANTED
    SEED_SKIPPED = broker.SEED_SKIPPED
    SETTINGS_CHANGED = broker.SETTINGS_CHANGED
    READER_FAILED = broker.READER_FAILED

    # Nodes

    NODE_STOPPED = nodes.NODE_STOPPED
    NODE_MISSED = nodes.NODE_MISSED
    NODE_STARTED = nodes.NODE_STARTED
    NODES_MISSING = nodes.NODES_MISSING
    NODES_WITHOUT_REPLICAS = nodes.NODES_WITHOUT_REPLICAS
    LEADERS_MOVED = nodes.LEADERS_MOVED
    PARTITIONS_IN_SYNC = nodes.PARTITIONS_IN_SYNC
    NODE_DIED = nodes.NODE_DIED
    PARTITION_LEADER_CHANGED = nodes.PARTITION_LEADER_CHANGED
    REPLICAS_MOVED = nodes.REPLICAS_MOVED
    PARTITION_REASSIGNED = nodes.PARTITION_REASSIGNED

    # Connections and requests

    CONNECTION_OPENED = network.CONNECTION_OPENED
    CONNECTION_CLOSED = network.CONNECTION_CLOSED
    CONNECTION_REFUSED = network.CONNECTION_REFUSED
    CONNECTION_FOREIGN = network.CONNECTION_FOREIGN
    CONNECTION_IDLE_CLOSED = network.CONNECTION_IDLE_CLOSED
    CONNECTION_FAILED = network.CONNECTION_FAILED
    REQUEST_REFUSED = network.REQUEST_REFUSED
    REQUEST_FAILED = network.REQUEST_FAILED
    REQUEST_HANDLED = network.REQUEST_HANDLED

    # Faults

    FAULT_SET = faults.FAULT_SET
    FAULT_HIT = faults.FAULT_HIT
    FAULT_REMOVED = faults.FAULT_REMOVED
    REQUEST_HELD = faults.REQUEST_HELD
    REQUEST_LET_GO = faults.REQUEST_LET_GO
    APPEND_HELD = faults.APPEND_HELD
    APPEND_LET_GO = faults.APPEND_LET_GO
    DEADLINE_HELD = faults.DEADLINE_HELD
    DEADLINE_LET_GO = faults.DEADLINE_LET_GO

    # Topics

    TOPIC_CREATED = topics.TOPIC_CREATED
    TOPIC_GROWN = topics.TOPIC_GROWN
    TOPIC_DELETED = topics.TOPIC_DELETED
    TOPIC_AUTOCREATION_REFUSED = topics.TOPIC_AUTOCREATION_REFUSED

    # Storage

    LOG_OFFLINE = storage.LOG_OFFLINE
    LOG_FULL = storage.LOG_FULL
    LOG_CUT = storage.LOG_CUT
    LOGS_RECOVERING = storage.LOGS_RECOVERING
    LOGS_OPENED = storage.LOGS_OPENED
    LOG_STRAY = storage.LOG_STRAY
    LOG_REMOVAL_FAILED = storage.LOG_REMOVAL_FAILED
    INDEX_REBUILT = storage.INDEX_REBUILT
    METADATA_DAMAGED = storage.METADATA_DAMAGED
    DATA_DIR_CLOSE_FAILED = storage.DATA_DIR_CLOSE_FAILED
    LOG_CARE_FAILED = storage.LOG_CARE_FAILED
    LOG_CARE_RECOVERED = storage.LOG_CARE_RECOVERED
    DISK_WORK_FAILED = storage.DISK_WORK_FAILED
    RECOVERY_POINTS_FAILED = storage.RECOVERY_POINTS_FAILED
    VIRTUAL_DATE_FAILED = storage.VIRTUAL_DATE_FAILED
    CLUSTER_JOURNAL_CUT = storage.CLUSTER_JOURNAL_CUT
    CLUSTER_JOURNAL_FAILED = storage.CLUSTER_JOURNAL_FAILED

    # Compaction

    LOG_CLEANED = storage.LOG_CLEANED
    LOG_CLEANING_STOPPED = storage.LOG_CLEANING_STOPPED
    LOG_CLEANING_FAILED = storage.LOG_CLEANING_FAILED

    # Groups

    GROUP_REBALANCE_STARTED = groups.GROUP_REBALANCE_STARTED
    GROUP_DELAY_BEGUN = groups.GROUP_DELAY_BEGUN
    GROUP_REBALANCE_JOINED = groups.GROUP_REBALANCE_JOINED
    GROUP_REBALANCE_COMPLETED = groups.GROUP_REBALANCE_COMPLETED
    GROUP_REBALANCE_STUCK = groups.GROUP_REBALANCE_STUCK
    GROUP_EMPTIED = groups.GROUP_EMPTIED
    GROUP_MEMBER_ID_HANDED_OUT = groups.GROUP_MEMBER_ID_HANDED_OUT
    GROUP_MEMBER_JOINED = groups.GROUP_MEMBER_JOINED
    GROUP_MEMBER_REJOINED = groups.GROUP_MEMBER_REJOINED
    GROUP_MEMBER_REPLACED = groups.GROUP_MEMBER_REPLACED
    GROUP_MEMBER_REMOVED = groups.GROUP_MEMBER_REMOVED
    GROUP_JOIN_REFUSED = groups.GROUP_JOIN_REFUSED
    GROUP_CREATED = groups.GROUP_CREATED
    GROUP_LOADED = groups.GROUP_LOADED
    GROUP_UNLOADED = groups.GROUP_UNLOADED
    GROUP_DELETED = groups.GROUP_DELETED
    GROUP_OFFSETS_REMOVED = groups.GROUP_OFFSETS_REMOVED
    GROUP_FAILED = groups.GROUP_FAILED
    GROUP_RECOVERED = groups.GROUP_RECOVERED
    GROUPS_LOADED = groups.GROUPS_LOADED
    GROUP_LOG_LOADED = groups.GROUP_LOG_LOADED
    GROUP_LOG_LOAD_FAILED = groups.GROUP_LOG_LOAD_FAILED
    GROUP_LOG_RECORDS_IGNORED = groups.GROUP_LOG_RECORDS_IGNORED
    GROUP_WRITE_FAILED = groups.GROUP_WRITE_FAILED

    # Transactions

    TRANSACTION_PRODUCER_INITIALIZED = transactions.TRANSACTION_PRODUCER_INITIALIZED
    TRANSACTION_PRODUCER_FENCED = transactions.TRANSACTION_PRODUCER_FENCED
    TRANSACTION_BEGAN = transactions.TRANSACTION_BEGAN
    TRANSACTION_PARTITIONS_ADDED = transactions.TRANSACTION_PARTITIONS_ADDED
    TRANSACTION_PREPARED = transactions.TRANSACTION_PREPARED
    TRANSACTION_COMMITTED = transactions.TRANSACTION_COMMITTED
    TRANSACTION_ABORTED = transactions.TRANSACTION_ABORTED
    TRANSACTION_ID_EXPIRED = transactions.TRANSACTION_ID_EXPIRED
    TRANSACTION_WRITE_FAILED = transactions.TRANSACTION_WRITE_FAILED
    TRANSACTIONS_FAILED = transactions.TRANSACTIONS_FAILED
    TRANSACTIONS_RECOVERED = transactions.TRANSACTIONS_RECOVERED
    TRANSACTION_LOG_LOADED = transactions.TRANSACTION_LOG_LOADED
    TRANSACTION_LOG_LOAD_FAILED = transactions.TRANSACTION_LOG_LOAD_FAILED
    TRANSACTION_LOG_RECORDS_IGNORED = transactions.TRANSACTION_LOG_RECORDS_IGNORED


#: Every kind by its name.
KINDS: Final = {kind.value: kind for kind in Kind}
#: All but what happens with each request: for readers who don't say what they want.
USUAL_KINDS: Final = tuple(kind for kind in Kind if kind is not Kind.REQUEST_HANDLED)
