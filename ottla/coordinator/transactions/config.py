"""What can be set: Kafka's names in snake_case, Kafka's units, Kafka's defaults.

Kafka: TransactionStateManagerConfig, TransactionLogConfig; the feature transaction.version.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class TransactionConfig:
    """The settings of all coordinators of a broker, which share this object: the level of the feature may change."""

    transactional_id_expiration_ms: int = 604_800_000
    abort_timed_out_interval_ms: int = 10_000
    """Kafka: transaction.abort.timed.out.transaction.cleanup.interval.ms."""
    remove_expired_interval_ms: int = 3_600_000
    """Kafka: transaction.remove.expired.transaction.cleanup.interval.ms."""
    num_partitions: int = 50
    """Kafka: transaction.state.log.num.partitions."""
    transaction_version: int = 2
    """Of what the coordinator begins by itself, and of its records: 0, 1 or 2."""
