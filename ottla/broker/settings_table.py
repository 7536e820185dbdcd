"""The table of settings: name, type, default, range.

Kafka: the ConfigDefs behind KafkaConfig. What Kafka has not is called `ottla.…`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final


@dataclass(slots=True)
class Setting:
    """One setting. `kind` is Kafka's word for its type; `choices` are the only values, or list items, allowed."""

    name: str
    kind: str
    default: Any
    at_least: int | float | None = None
    at_most: int | float | None = None
    choices: tuple[str, ...] | None = None

    @property
    def expected(self) -> str:
        """What a right value looks like, for error messages."""
        if self.choices is not None:
            return "one of " + ", ".join(self.choices)
        kind = {"boolean": "true or false", "int": "a whole number", "long": "a whole number"}.get(self.kind, "text")
        if self.at_least is not None and self.at_most is not None:
            return f"{kind} from {self.at_least} to {self.at_most}"
        return kind if self.at_least is None else f"{kind}, at least {self.at_least}"


_INT_MAX: Final = 2**31 - 1

SETTINGS: Final = {
    setting.name: setting
    for setting in (
        Setting("auto.create.topics.enable", "boolean", True),
        Setting("connections.max.idle.ms", "long", 600_000),
        Setting("default.replication.factor", "int", 1, 1),
        Setting("delete.topic.enable", "boolean", True),
        Setting("fetch.max.bytes", "int", 57_671_680, 1024),
        Setting("group.initial.rebalance.delay.ms", "int", 3000),
        Setting("group.max.session.timeout.ms", "int", 1_800_000),
        Setting("group.max.size", "int", _INT_MAX, 1),
        Setting("group.min.session.timeout.ms", "int", 6000),
        Setting("max.incremental.fetch.session.cache.slots", "int", 1000, 0),
        Setting("num.partitions", "int", 1, 1),
        Setting("offset.metadata.max.bytes", "int", 4096),
        Setting("offsets.commit.timeout.ms", "int", 5000, 1),
        Setting("offsets.retention.check.interval.ms", "long", 600_000, 1),
        Setting("offsets.retention.minutes", "int", 10_080, 1),
        Setting("offsets.topic.num.partitions", "int", 50, 1),
        Setting("offsets.topic.replication.factor", "short", 3, 1),
        Setting("ottla.log.bytes.max", "long", 1 << 30, 0),
        Setting("socket.request.max.bytes", "int", 104_857_600, 1),
    )
}
