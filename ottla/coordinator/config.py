"""What can be set: Kafka's names in snake_case, Kafka's units, Kafka's defaults.

Kafka: GroupCoordinatorConfig.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60 * 1000
"""How long a new member may be parked on its first JoinGroup. Kafka: CLASSIC_GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS."""

INT32_MAX: Final = 2**31 - 1


@dataclass(slots=True, frozen=True, kw_only=True)
class GroupConfig:
    """The settings of one coordinator. All its groups share one of these."""

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = INT32_MAX
    offset_metadata_max_bytes: int = 4_096
    """Counted in UTF-16 units, for all its name."""
    offsets_retention_ms: int = 7 * 24 * 60 * 60 * 1000
    """Kafka: offsets.retention.minutes = 10080."""
    offsets_retention_check_interval_ms: int = 600_000
    offsets_topic_num_partitions: int = 50
