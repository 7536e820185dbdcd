"""What a broker is set to, for all scripts to be played: Kafka's answers were recorded with these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: Timeouts that can be waited for, limits that can be reached, few internal partitions.
SETTINGS: Final[Mapping[str, str]] = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "200",
    "group.max.session.timeout.ms": "60000",
    "group.max.size": "4",
    "offset.metadata.max.bytes": "64",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    # The records of scripts have dates of long ago: the first look for old ones would delete them in the middle of it.
    "log.initial.task.delay.ms": "86400000",
}

#: What scripts may ask for: these, and what a fresh Kafka has.
NEEDED: Final[Mapping[str, str]] = {**SETTINGS, "node.id": "1", "authorizer.class.name": ""}
