"""aiokafka. Its loop runs in a thread of its own, so its consumer lives on between the program's turns."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocol
from aiokafka.errors import KafkaError, for_code

from tests.clients.programs.program import (
    CALL_SECONDS_MAX,
    FETCH_MAX_WAIT_MS,
    HEARTBEAT_INTERVAL_MS,
    TURN_SECONDS,
    Program,
    Refused,
    main,
    raw,
    say,
    say_polled,
)

T = TypeVar("T")

ASSIGNORS = {
    assignor.name: assignor
    for assignor in (RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor)
}


class Aiokafka(Program):
    def __init__(self, bootstrap: str, client_id: str) -> None:
        super().__init__(bootstrap, client_id)
        self.consumer: Any = None
        self._admin: Any = None
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Have the loop do it, and wait."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_SECONDS_MAX)

    @property
    def common(self) -> dict[str, Any]:
        return {"bootstrap_servers": self.bootstrap, "client_id": self.client_id}

    def refusal(self, error: Exception) -> Refused | None:
        if not isinstance(error, KafkaError | ValueError):
            return None
        return Refused(getattr(error, "errno", None), f"{type(error).__name__}: {error}")

    # ── producing ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def produce(
        self,
        topic: str,
        messages: list[dict[str, Any]],
        codec: str = "none",
        acks: str = "all",
        idempotent: bool = False,
        bytes_max: int = 1_048_576,
    ) -> list[list[int]]:
        async def produce() -> list[list[int]]:
            producer = AIOKafkaProducer(
                compression_type=None if codec == "none" else codec,
                acks=acks if acks == "all" else int(acks),
                enable_idempotence=idempotent,
                max_request_size=bytes_max,
                linger_ms=5,
                **self.common,
            )
            await producer.start()
            try:
                sent = [
                    await producer.send(
                        topic,
                        value=raw(message["value"]),
                        key=raw(message["key"]),
                        headers=[(name, raw(value)) for name, value in message["headers"]],
                        partition=message["partition"],
                        timestamp_ms=message["timestamp_ms"],
                    )
                    for message in messages
                ]
                stored = [await future for future in sent]
            finally:
                await producer.stop()
            # Without acks the answer is None, for there is none.
            return [[-1, -1] if metadata is None else [metadata.partition, metadata.offset] for metadata in stored]

        return self.wait(produce())

    # ── transactions ──────────────────────────────────────────────────────────────────────────────────────────────────

    def begin_transactional(self, transactional_id: str, timeout_ms: int = 60_000) -> None:
        async def start() -> Any:
            producer = AIOKafkaProducer(
                transactional_id=transactional_id, transaction_timeout_ms=timeout_ms, linger_ms=5, **self.common
            )
            await producer.start()
            return producer

        self._transactional = self.wait(start())

    def begin_transaction(self) -> None:
        self.wait(self._transactional.begin_transaction())

    def write(self, topic: str, values: list[str]) -> None:
        async def write() -> None:
            for future in [await self._transactional.send(topic, value=raw(value)) for value in values]:
                await future

        self.wait(write())

    def send_offsets(self, group: str, offsets: list[list[Any]]) -> None:
        wanted = {TopicPartition(topic, partition): offset for topic, partition, offset in offsets}
        self.wait(self._transactional.send_offsets_to_transaction(wanted, group))

    def end_transaction(self, commit: bool) -> None:
        ends = self._transactional.commit_transaction if commit else self._transactional.abort_transaction
        self.wait(ends())

    # ── consuming ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def subscribe(
        self,
        group: str,
        topics: list[str] | None = None,
        pattern: str | None = None,
        assignors: list[str] | None = None,
        instance: str | None = None,
        session_timeout_ms: int = 30_000,
        metadata_max_age_ms: int = 300_000,
        auto_commit: bool = False,
        reset: str = "earliest",
        turn_seconds: float = TURN_SECONDS,
    ) -> None:
        self.turn_seconds = turn_seconds

        async def subscribe() -> Any:
            consumer = AIOKafkaConsumer(
                group_id=group,
                group_instance_id=instance,
                partition_assignment_strategy=[ASSIGNORS[name] for name in assignors or ["range"]],
                session_timeout_ms=session_timeout_ms,
                heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
                fetch_max_wait_ms=FETCH_MAX_WAIT_MS,
                metadata_max_age_ms=metadata_max_age_ms,
                enable_auto_commit=auto_commit,
                auto_offset_reset=reset,
                **self.common,
            )
            consumer.subscribe(topics=topics or (), pattern=pattern, listener=Listener())
            try:
                await consumer.start()  # joins, where other libraries join in their first poll
            except KafkaError as error:
                say(failed={"code": error.errno, "text": str(error)})
            return consumer

        self.consumer = self.wait(subscribe())
        self.is_consuming = True

    def assign(
        self,
        partitions: list[list[Any]],
        offset: int | None = None,
        group: str | None = None,
        reset: str = "earliest",
        isolation: str = "read_uncommitted",
    ) -> None:
        async def assign() -> Any:
            consumer = AIOKafkaConsumer(
                isolation_level=isolation,
                group_id=group,
                auto_offset_reset=reset,
                enable_auto_commit=False,
                fetch_max_wait_ms=FETCH_MAX_WAIT_MS,
                **self.common,
            )
            await consumer.start()
            wanted = [TopicPartition(*partition) for partition in partitions]
            consumer.assign(wanted)
            if offset is not None:
                for partition in wanted:
                    consumer.seek(partition, offset)
            return consumer

        self.consumer = self.wait(assign())
        self.is_consuming = True

    def turn(self) -> None:
        polled = self.wait(self.consumer.getmany(timeout_ms=int(self.turn_seconds * 1000)))
        say_polled(polled)

    def seek(self, topic: str, partition: int, offset: int) -> None:
        self._loop.call_soon_threadsafe(self.consumer.seek, TopicPartition(topic, partition), offset)

    def position(self, topic: str, partition: int) -> int:
        position: int = self.wait(self.consumer.position(TopicPartition(topic, partition)))
        return position

    def commit(self, offsets: list[list[Any]] | None = None) -> None:
        self.wait(
            self.consumer.commit(
                None
                if offsets is None
                else {
                    TopicPartition(topic, partition): (offset, metadata)
                    for topic, partition, offset, metadata in offsets
                }
            )
        )

    def committed(self, topic: str, partition: int) -> list[Any] | None:
        """Its metadata is not to be had this way."""
        offset = self.wait(self.consumer.committed(TopicPartition(topic, partition)))
        return None if offset is None else [offset, None]

    def beginning_offset(self, topic: str, partition: int) -> int:
        asked = TopicPartition(topic, partition)
        offset: int = self.wait(self.consumer.beginning_offsets([asked]))[asked]
        return offset

    def end_offset(self, topic: str, partition: int) -> int:
        asked = TopicPartition(topic, partition)
        offset: int = self.wait(self.consumer.end_offsets([asked]))[asked]
        return offset

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        asked = TopicPartition(topic, partition)
        found = self.wait(self.consumer.offsets_for_times({asked: timestamp_ms}))[asked]
        return None if found is None else found.offset

    def close(self) -> None:
        self.is_consuming = False
        self.wait(self.consumer.stop())

    # ── administration ────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def admin(self) -> Any:
        async def start() -> Any:
            admin = AIOKafkaAdminClient(**self.common)
            await admin.start()
            return admin

        if self._admin is None:
            self._admin = self.wait(start())
        return self._admin

    def create_topic(self, topic: str, partitions: int = 1, configs: dict[str, str] | None = None) -> None:
        new = NewTopic(topic, num_partitions=partitions, replication_factor=1, topic_configs=configs or {})
        check(self.wait(self.admin.create_topics([new])).topic_errors[0][1])

    def delete_topic(self, topic: str) -> None:
        check(self.wait(self.admin.delete_topics([topic])).topic_error_codes[0][1])

    def topics(self) -> dict[str, int]:
        return {topic["topic"]: len(topic["partitions"]) for topic in self.wait(self.admin.describe_topics())}

    def add_partitions(self, topic: str, total: int) -> None:
        self.wait(self.admin.create_partitions({topic: NewPartitions(total)}))

    def topic_configs(self, topic: str) -> dict[str, str]:
        return self._configs(ConfigResource(ConfigResourceType.TOPIC, topic))

    def broker_configs(self, node_id: int) -> dict[str, str]:
        return self._configs(ConfigResource(ConfigResourceType.BROKER, str(node_id)))

    def _configs(self, resource: ConfigResource) -> dict[str, str]:
        ((error, _, _, _, entries),) = self.wait(self.admin.describe_configs([resource]))[0].resources
        check(error)
        return {name: value for name, value, *_ in entries}

    def replace_topic_configs(self, topic: str, configs: dict[str, str]) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs)
        ((error, *_),) = self.wait(self.admin.alter_configs([resource]))[0].resources
        check(error)

    def groups(self) -> list[str]:
        return [group for group, *_ in self.wait(self.admin.list_consumer_groups())]

    def group(self, group: str) -> dict[str, Any]:
        ((error, _, state, _, protocol, members, *_),) = self.wait(self.admin.describe_consumer_groups([group]))[
            0
        ].groups
        check(error)
        return {
            "state": state,
            "protocol": protocol,
            "members": [
                {
                    "client_id": client_id,
                    "host": host,
                    "instance": None,
                    "partitions": [
                        [topic, partition]
                        for topic, partitions in ConsumerProtocol.ASSIGNMENT.decode(assignment).assignment
                        for partition in partitions
                    ]
                    if assignment
                    else [],
                }
                for _, client_id, host, _, assignment in members
            ],
        }

    def group_offsets(self, group: str) -> list[list[Any]]:
        found = self.wait(self.admin.list_consumer_group_offsets(group))
        return sorted([at.topic, at.partition, entry.offset, entry.metadata] for at, entry in found.items())

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        from aiokafka.admin import RecordsToDelete  # from 0.11 on

        at = TopicPartition(topic, partition)
        low: int = self.wait(self.admin.delete_records({at: RecordsToDelete(before)}))[at]
        return low

    def cluster(self) -> dict[str, Any]:
        described = self.wait(self.admin.describe_cluster())
        return {
            "cluster_id": described.get("cluster_id"),
            "nodes": [[broker["node_id"], broker["host"], broker["port"]] for broker in described["brokers"]],
        }


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def on_partitions_revoked(self, revoked: Any) -> None:
        say(revoked=sorted(revoked))

    def on_partitions_assigned(self, assigned: Any) -> None:
        say(assigned=sorted(assigned))


def check(error_code: int) -> None:
    """The admin client returns Kafka's answers as they are."""
    if error_code:
        raise Refused(error_code, for_code(error_code).__name__)


if __name__ == "__main__":
    main(Aiokafka)
