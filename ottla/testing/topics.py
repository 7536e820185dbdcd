"""`kafka.topic("orders")`: a topic, its records decoded, and what a test does to it without a client.

orders = kafka.topic("orders").create(partitions=3)
orders.produce("soup", "bread", partition=1)
assert [record.text for record in orders.records()] == ["soup", "bread"]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from ottla.broker.state import changes, conditions
from ottla.broker.state.topics import PartitionView, Record, TopicView, look_at_topic, records_of
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
        """All that can be said of it at this moment. Raises `NoSuchTopic`."""
        return self._inside.look(lambda server: look_at_topic(server.cluster, self.name))

    @property
    def partitions(self) -> tuple[PartitionView, ...]:
        """Its partitions: leaders, replicas, where the logs begin and end. Raises `NoSuchTopic`."""
        return self.look().partitions

    @property
    def leaders(self) -> dict[int, int]:
        """The node that leads each partition; -1: none does. Raises `NoSuchTopic`."""
        return {partition.partition: partition.leader_id for partition in self.look().partitions}

    def records(self, partition: int | None = None) -> list[Record]:
        """What is in it, or in one partition, oldest first; nothing, if there is no such topic."""
        return self._inside.look(lambda server: records_of(server.cluster, self.name, partition))

    def create(self, *, partitions: int | None = None, configs: Mapping[str, object] | None = None) -> Self:
        """Make it. partitions: None for num.partitions. configs: by Kafka's names. Raises `ChangeRefused`."""
        texts = {name: str(value) for name, value in (configs or {}).items()}
        self._inside.look(lambda server: changes.create_topic(server.cluster, self.name, partitions, texts))
        return self

    def grow(self, *, partitions: int) -> Self:
        """Have it get more partitions, until there are so many. Raises `NoSuchTopic`, `ChangeRefused`."""
        self._inside.look(lambda server: changes.grow_topic(server.cluster, self.name, partitions))
        return self

    def delete(self) -> None:
        """Delete it. Raises `NoSuchTopic`."""
        self._inside.look(lambda server: changes.delete_topic(server.cluster, self.name))

    def produce(
        self,
        *values: bytes | str | None,
        key: bytes | str | None = None,
        partition: int = 0,
        headers: Mapping[str, bytes | str | None] | None = None,
        timestamp_ms: int | None = None,
    ) -> list[Record]:
        """Put records with these values into a partition, and return them as they are in it then.

        Text becomes UTF-8, None is a tombstone. A topic that is not there is made. Raises `ChangeRefused`.
        """
        encoded = [_bytes(value) for value in values]
        encoded_headers = [(name, _bytes(value)) for name, value in (headers or {}).items()]
        return self._inside.look(
            lambda server: changes.append_records(
                server.cluster,
                self.name,
                encoded,
                key=_bytes(key),
                partition=partition,
                headers=encoded_headers,
                timestamp_ms=timestamp_ms,
            )
        )

    def delete_records(self, *, partition: int | None = None, before: int | None = None) -> None:
        """Have it begin at the offset `before`; None: have it be empty. partition: None for all.

        Raises `NoSuchTopic`, `ChangeRefused`.
        """
        self._inside.look(lambda server: changes.delete_records(server.cluster, self.name, partition, before))


class Topic(TopicLooks):
    """A topic of a running broker, be it there or not, and waiting for it."""

    def wait_for_records(self, count: int, *, timeout_s: float = TIMEOUT_S) -> list[Record]:
        """Return all records when there are so many, or more. Raises `NotInTime`."""
        self._inside.wait(conditions.records_are(self.name, count), timeout_s)
        return self.records()


class AsyncTopic(TopicLooks):
    """The same, and its waits are awaited."""

    async def wait_for_records(self, count: int, *, timeout_s: float = TIMEOUT_S) -> list[Record]:
        """As `Topic.wait_for_records`."""
        await self._inside.wait_in_loop(conditions.records_are(self.name, count), timeout_s)
        return self.records()


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
