"""confluent-kafka, which is librdkafka with a Python face."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from confluent_kafka import (
    OFFSET_INVALID,
    OFFSET_STORED,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

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
    text,
)


class Confluent(Program):
    def __init__(self, bootstrap: str, client_id: str) -> None:
        super().__init__(bootstrap, client_id)
        self.consumer: Any = None
        self._admin: Any = None
        self._producer: Any = None
        self._producer_config: dict[str, Any] = {}
        self._transactional: Any = None
        self._outsider: Any = None

    @property
    def common(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.bootstrap, "client.id": self.client_id}

    @property
    def admin(self) -> Any:
        if self._admin is None:
            self._admin = AdminClient(self.common)
        return self._admin

    def refusal(self, error: Exception) -> Refused | None:
        return _refusal(error.args[0]) if isinstance(error, KafkaException) else None

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
        config = {
            "compression.type": codec,
            "acks": acks,
            "enable.idempotence": idempotent,
            "message.max.bytes": bytes_max,
            "linger.ms": 5,
            **self.common,
        }
        producer = self._kept_producer(config) if idempotent else Producer(config)
        delivered: dict[int, Any] = {}
        errors: list[KafkaError] = []
        for number, message in enumerate(messages):

            def keep(error: KafkaError | None, stored: Message, number: int = number) -> None:
                if error is not None:
                    errors.append(error)
                delivered[number] = stored

            optional = {name: message[name] for name in ("partition",) if message[name] is not None}
            if message["timestamp_ms"] is not None:
                optional["timestamp"] = message["timestamp_ms"]
            producer.produce(
                topic,
                value=raw(message["value"]),
                key=raw(message["key"]),
                headers=[(name, raw(value)) for name, value in message["headers"]],
                on_delivery=keep,
                **optional,
            )
        left = producer.flush(CALL_SECONDS_MAX)
        if errors or left:
            raise _refusal(errors[0]) if errors else Refused(None, f"{left} messages were not delivered")
        stored = [delivered[number] for number in range(len(messages))]
        return [[message.partition(), message.offset()] for message in stored]

    def _kept_producer(self, config: dict[str, Any]) -> Any:
        """An idempotent one goes on where it was: another would have another id, and take half a second to get it."""
        if self._producer is None or self._producer_config != config:
            self._producer, self._producer_config = Producer(config), config
        return self._producer

    # ── transactions ──────────────────────────────────────────────────────────────────────────────────────────────────

    def begin_transactional(self, transactional_id: str, timeout_ms: int = 60_000) -> None:
        config = {"transactional.id": transactional_id, "transaction.timeout.ms": timeout_ms, "linger.ms": 5}
        self._transactional = Producer({**config, **self.common})
        self._transactional.init_transactions(CALL_SECONDS_MAX)

    def begin_transaction(self) -> None:
        self._transactional.begin_transaction()

    def write(self, topic: str, values: list[str]) -> None:
        errors: list[KafkaError] = []
        for value in values:
            self._transactional.produce(
                topic, value=raw(value), on_delivery=lambda error, _: errors.append(error) if error else None
            )
        self._transactional.flush(CALL_SECONDS_MAX)
        if errors:
            raise _refusal(errors[0])

    def send_offsets(self, group: str, offsets: list[list[Any]]) -> None:
        consumer = Consumer({"group.id": group, **self.common})
        try:
            wanted = [TopicPartition(topic, partition, offset) for topic, partition, offset in offsets]
            metadata = consumer.consumer_group_metadata()
            self._transactional.send_offsets_to_transaction(wanted, metadata, CALL_SECONDS_MAX)
        finally:
            consumer.close()

    def end_transaction(self, commit: bool) -> None:
        if commit:
            self._transactional.commit_transaction(CALL_SECONDS_MAX)
        else:
            self._transactional.abort_transaction(CALL_SECONDS_MAX)

    def transact(
        self, transactional_id: str, topic: str, values: list[list[Any]], group: str, offset: int, commit: bool
    ) -> str:
        """Write to partitions, [[partition, value]], and commit an offset, all in one; whatever is in the way.

        Returns what came of it: "committed", "aborted", or "unknown" if the answer to the commit was lost. Nothing is
        under way when it aborts: librdkafka would forget records whose answers it waits for, and give their numbers to
        the next; those would be taken for repeats, and be lost, with Kafka as well.
        """
        if self._transactional is None:
            self._transactional = self._transactional_producer(transactional_id)
        producer, is_ending = self._transactional, False
        try:
            producer.begin_transaction()
            for partition, value in values:
                producer.produce(topic, value=raw(value), partition=partition)
            committed = [TopicPartition(topic, 0, offset)]
            _insist(lambda: producer.send_offsets_to_transaction(committed, self._member_of(group), CALL_SECONDS_MAX))
            producer.flush(CALL_SECONDS_MAX)
            is_ending = commit
            _insist(lambda: (producer.commit_transaction if commit else producer.abort_transaction)(CALL_SECONDS_MAX))
        except KafkaException:
            self._transactional = None  # the next one of its id aborts what it has left open
            return "unknown" if is_ending else "aborted"
        return "committed" if commit else "aborted"

    def _transactional_producer(self, transactional_id: str) -> Any:
        """It keeps to the brokers it knows: when it looks for others, librdkafka 2.16 forgets that it has let go of the
        group's coordinator, and asks that one for ever.
        """
        config = {
            "transactional.id": transactional_id,
            "linger.ms": 5,
            "metadata.recovery.strategy": "none",
            "reconnect.backoff.max.ms": 500,
        }
        while True:
            producer = Producer({**config, **self.common})
            try:
                _insist(lambda producer=producer: producer.init_transactions(CALL_SECONDS_MAX))  # type: ignore[misc]
            except KafkaException as error:
                print(f"begins anew: {error}", file=sys.stderr)
            else:
                return producer

    def _member_of(self, group: str) -> Any:
        """Who is in no generation of it."""
        if self._outsider is None:
            self._outsider = Consumer({"group.id": group, **self.common})
        return self._outsider.consumer_group_metadata()

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
        self._consume(
            {
                "group.id": group,
                "partition.assignment.strategy": ",".join(assignors or ["range"]),
                "session.timeout.ms": session_timeout_ms,
                "heartbeat.interval.ms": HEARTBEAT_INTERVAL_MS,
                "topic.metadata.refresh.interval.ms": metadata_max_age_ms,
                "enable.auto.commit": auto_commit,
                "auto.offset.reset": _RESET[reset],
                "allow.auto.create.topics": True,
                **({"group.instance.id": instance} if instance is not None else {}),
            }
        )
        self.consumer.subscribe(
            [f"^{pattern}"] if pattern is not None else topics,
            on_assign=lambda _, partitions: say(assigned=_pairs(partitions)),
            on_revoke=lambda _, partitions: say(revoked=_pairs(partitions)),
            on_lost=lambda _, partitions: say(lost=_pairs(partitions)),
        )

    def assign(
        self,
        partitions: list[list[Any]],
        offset: int | None = None,
        group: str | None = None,
        reset: str = "earliest",
        isolation: str = "read_committed",
    ) -> None:
        config = {"enable.auto.commit": False, "auto.offset.reset": _RESET[reset], "isolation.level": isolation}
        self._consume({"group.id": group or "none", **config})
        start = OFFSET_STORED if offset is None else offset
        self.consumer.assign([TopicPartition(topic, partition, start) for topic, partition in partitions])

    def _consume(self, config: dict[str, Any]) -> None:
        self.consumer = Consumer({"fetch.wait.max.ms": FETCH_MAX_WAIT_MS, **config, **self.common})
        self.is_consuming = True

    def turn(self) -> None:
        messages = []
        message = self.consumer.poll(self.turn_seconds)
        while message is not None:
            if message.error() is not None:
                say(failed=_refusal(message.error()).json())
            else:
                messages.append(_shown(message))
            message = self.consumer.poll(0)
        if messages:
            say(messages=messages)

    def seek(self, topic: str, partition: int, offset: int) -> None:
        self.consumer.seek(TopicPartition(topic, partition, offset))

    def position(self, topic: str, partition: int) -> int:
        position: int = self.consumer.position([TopicPartition(topic, partition)])[0].offset
        return position

    def commit(self, offsets: list[list[Any]] | None = None) -> None:
        if offsets is None:
            committed = self.consumer.commit(asynchronous=False)
        else:
            committed = self.consumer.commit(
                offsets=[
                    TopicPartition(topic, partition, offset, metadata) for topic, partition, offset, metadata in offsets
                ],
                asynchronous=False,
            )
        _check(committed)

    def committed(self, topic: str, partition: int) -> list[Any] | None:
        (found,) = self.consumer.committed([TopicPartition(topic, partition)], CALL_SECONDS_MAX)
        return None if found.offset == OFFSET_INVALID else [found.offset, found.metadata or ""]

    def beginning_offset(self, topic: str, partition: int) -> int:
        low: int = self.consumer.get_watermark_offsets(TopicPartition(topic, partition), CALL_SECONDS_MAX)[0]
        return low

    def end_offset(self, topic: str, partition: int) -> int:
        high: int = self.consumer.get_watermark_offsets(TopicPartition(topic, partition), CALL_SECONDS_MAX)[1]
        return high

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        (found,) = self.consumer.offsets_for_times([TopicPartition(topic, partition, timestamp_ms)], CALL_SECONDS_MAX)
        return None if found.offset < 0 else found.offset  # -1, which is OFFSET_END

    def close(self) -> None:
        self.is_consuming = False
        self.consumer.close()

    # ── administration ────────────────────────────────────────────────────────────────────────────────────────────────

    def create_topic(self, topic: str, partitions: int = 1, configs: dict[str, str] | None = None) -> None:
        _only(self.admin.create_topics([NewTopic(topic, partitions, 1, config=configs or {})]))

    def delete_topic(self, topic: str) -> None:
        _only(self.admin.delete_topics([topic]))

    def topics(self) -> dict[str, int]:
        found = self.admin.list_topics(timeout=CALL_SECONDS_MAX).topics
        return {name: len(topic.partitions) for name, topic in found.items()}

    def add_partitions(self, topic: str, total: int) -> None:
        _only(self.admin.create_partitions([NewPartitions(topic, total)]))

    def topic_configs(self, topic: str) -> dict[str, str | None]:
        return self._configs(ConfigResource(ResourceType.TOPIC, topic))

    def broker_configs(self, node_id: int) -> dict[str, str | None]:
        return self._configs(ConfigResource(ResourceType.BROKER, str(node_id)))

    def _configs(self, resource: ConfigResource) -> dict[str, str | None]:
        return {name: entry.value for name, entry in _only(self.admin.describe_configs([resource])).items()}

    def replace_topic_configs(self, topic: str, configs: dict[str, str]) -> None:
        _only(self.admin.alter_configs([ConfigResource(ResourceType.TOPIC, topic, set_config=configs)]))

    def change_topic_config(self, topic: str, name: str, operation: str, value: str | None = None) -> None:
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType[operation.upper()])
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        _only(self.admin.incremental_alter_configs([resource]))

    def groups(self) -> list[str]:
        return [group.group_id for group in _wait(self.admin.list_consumer_groups()).valid]

    def group(self, group: str) -> dict[str, Any]:
        described = _only(self.admin.describe_consumer_groups([group]))
        return {
            "state": described.state.name.title().replace("_", ""),
            "protocol": described.partition_assignor,
            "members": [
                {
                    "client_id": member.client_id,
                    "host": member.host,
                    "instance": member.group_instance_id,
                    "partitions": _pairs(member.assignment.topic_partitions),
                }
                for member in described.members
            ],
        }

    def delete_group(self, group: str) -> None:
        _only(self.admin.delete_consumer_groups([group]))

    def group_offsets(self, group: str) -> list[list[Any]]:
        found = _only(self.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])).topic_partitions
        return sorted([entry.topic, entry.partition, entry.offset, entry.metadata or ""] for entry in found)

    def set_group_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, partition, offset)])
        _check(_only(self.admin.alter_consumer_group_offsets([wanted])).topic_partitions)

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        low: int = _only(self.admin.delete_records([TopicPartition(topic, partition, before)])).low_watermark
        return low

    def cluster(self) -> dict[str, Any]:
        described = _wait(self.admin.describe_cluster())
        return {
            "cluster_id": described.cluster_id,
            "nodes": [[node.id, node.host, node.port] for node in described.nodes],
        }

    def users(self, name: str | None = None) -> dict[str, Any]:
        """Those that have passwords, all of them or the one that is named."""
        if name is None:
            return dict(_wait(self.admin.describe_user_scram_credentials()))
        return {name: str(_only(self.admin.describe_user_scram_credentials([name])))}


_RESET = {"earliest": "earliest", "latest": "latest", "none": "error"}


def _insist(call: Callable[[], Any]) -> None:
    """Call it until it is done, or the library says that it is no use."""
    while True:
        try:
            call()
        except KafkaException as error:
            if not error.args[0].retriable():
                raise
        else:
            return


def _refusal(error: KafkaError) -> Refused:
    # Below zero are librdkafka's own.
    return Refused(error.code() if error.code() >= 0 else None, f"{error.name()}: {error.str()}")


def _wait(future: Future[Any]) -> Any:
    return future.result(CALL_SECONDS_MAX)


def _only(futures: dict[Any, Future[Any]]) -> Any:
    (future,) = futures.values()
    return _wait(future)


def _check(partitions: list[TopicPartition]) -> None:
    for partition in partitions:
        if partition.error is not None:
            raise _refusal(partition.error)


def _pairs(partitions: list[TopicPartition]) -> list[list[Any]]:
    return sorted([partition.topic, partition.partition] for partition in partitions)


def _shown(message: Any) -> dict[str, Any]:
    kind, timestamp_ms = message.timestamp()
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp_ms": None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp_ms,
        "key": text(message.key()),
        "value": text(message.value()),
        "headers": [[name, text(value)] for name, value in message.headers() or ()],
    }


if __name__ == "__main__":
    main(Confluent)
