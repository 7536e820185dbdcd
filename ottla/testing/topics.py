"""`kafka.topic("orders")`: a topic, its records decoded, and what a test does to it without a client.

orders = kafka.topic("orders").create(partitions=3)
orders.produce("soup", "bread", partition=1)
assert [record.text for record in orders.records()] == ["soup", "bread"]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from ottla.control.changes import topics
from ottla.control.state import conditions
from ottla.control.state.topics import COMMITTED, Isolation, PartitionView, Record, TopicView, look_at_topic, records_of
from ottla.testing.inside import TIMEOUT_S

if TYPE_CHECKING:
    from ottla.testing.inside import Inside


class TopicLooks:
    """What a test sees of a topic of a running broker and does to it, be it there or not."""

    def __init__(self, inside: Inside, name: str) -> None:
        self._inside = inside
        self.name = name

    def __repr__(self) -> str:
        return f"<topic {self.name}>"

    def look(self) -> TopicView:
        """Its complete state at this moment. Raises `NoSuchTopic`."""
        return self._inside.look(lambda broker: look_at_topic(broker.server.cluster, self.name))

    @property
    def partitions(self) -> tuple[PartitionView, ...]:
        """The partitions: leaders, replicas, first and last offsets. Raises `NoSuchTopic`."""
        return self.look().partitions

    @property
    def leaders(self) -> dict[int, int]:
        """The leader of each partition; -1: no leader. Raises `NoSuchTopic`."""
        return {partition.partition: partition.leader_id for partition in self.look().partitions}

    def records(self, partition: int | None = None, *, isolation: Isolation = COMMITTED) -> list[Record]:
        """The records of the topic, or of one partition, oldest first; none if the topic does not exist.

        isolation: as a consumer's `isolation.level`; "read_uncommitted" for records of open and aborted transactions.
        """
        return self._inside.look(lambda broker: records_of(broker.server.cluster, self.name, partition, isolation))

    def create(self, *, partitions: int | None = None, configs: Mapping[str, object] | None = None) -> Self:
        """Make it. partitions: None for num.partitions. configs: by Kafka's names. Raises `ChangeRefused`."""
        texts = {name: str(value) for name, value in (configs or {}).items()}
        self._inside.look(lambda broker: topics.create_topic(broker.server.cluster, self.name, partitions, texts))
        return self

    def grow(self, *, partitions: int) -> Self:
        """Add partitions up to this number. Raises `NoSuchTopic`, `ChangeRefused`."""
        self._inside.look(lambda broker: topics.grow_topic(broker.server.cluster, self.name, partitions))
        return self

    def delete(self) -> None:
        """Delete it. Raises `NoSuchTopic`."""
        self._inside.look(lambda broker: topics.delete_topic(broker.server.cluster, self.name))

    def produce(
        self,
        *values: bytes | str | None,
        key: bytes | str | None = None,
        partition: int = 0,
        headers: Mapping[str, bytes | str | None] | None = None,
        timestamp_ms: int | None = None,
    ) -> list[Record]:
        """Write records with these values into a partition, and return the stored records.

        Text becomes UTF-8, None is a tombstone. A missing topic is created. Raises `ChangeRefused`.
        """
        encoded = [_bytes(value) for value in values]
        encoded_headers = [(name, _bytes(value)) for name, value in (headers or {}).items()]
        return self._inside.look(
            lambda broker: topics.append_records(
                broker.server.cluster,
                self.name,
                encoded,
                key=_bytes(key),
                partition=partition,
                headers=encoded_headers,
                timestamp_ms=timestamp_ms,
            )
        )

    def delete_records(self, *, partition: int | None = None, before: int | None = None) -> None:
        """Delete the records before the offset `before`; None: all records. partition: None for all.

        Raises `NoSuchTopic`, `ChangeRefused`.
        """
        self._inside.look(lambda broker: topics.delete_records(broker.server.cluster, self.name, partition, before))


class Topic(TopicLooks):
    """A topic of a running broker: its state, changes to it, and waits. It need not exist yet."""

    def wait_for_records(
        self, count: int, *, isolation: Isolation = COMMITTED, timeout_s: float = TIMEOUT_S
    ) -> list[Record]:
        """Wait for at least this many records, and return all; see `records`. Raises `NotInTime`."""
        self._inside.wait(conditions.records_are(self.name, count, isolation), timeout_s)
        return self.records(isolation=isolation)


class AsyncTopic(TopicLooks):
    """The same, and its waits are awaited."""

    async def wait_for_records(
        self, count: int, *, isolation: Isolation = COMMITTED, timeout_s: float = TIMEOUT_S
    ) -> list[Record]:
        """As `Topic.wait_for_records`."""
        await self._inside.wait_in_loop(conditions.records_are(self.name, count, isolation), timeout_s)
        return self.records(isolation=isolation)


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
