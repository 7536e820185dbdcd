"""kafka-python, version 3; what version 2.0.2 does otherwise stands in `kafka_python_2`."""

from __future__ import annotations

from typing import Any

import kafka.errors
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.errors import KafkaError

from ottla.protocol.errors import ErrorCode
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


class KafkaPython(Program):
    def __init__(self, bootstrap: str, client_id: str) -> None:
        super().__init__(bootstrap, client_id)
        self.consumer: Any = None
        self._admin: Any = None

    @property
    def common(self) -> dict[str, Any]:
        return {"bootstrap_servers": self.bootstrap, "client_id": self.client_id}

    @property
    def admin(self) -> Any:
        if self._admin is None:
            self._admin = KafkaAdminClient(**self.common)
        return self._admin

    def refusal(self, error: Exception) -> Refused | None:
        if not isinstance(error, KafkaError | ValueError | AssertionError):
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
        producer = KafkaProducer(
            compression_type=None if codec == "none" else codec,
            acks=acks if acks == "all" else int(acks),
            max_request_size=bytes_max,
            linger_ms=5,
            **self.idempotence(idempotent),
            **self.common,
        )
        try:
            sent = [
                producer.send(
                    topic,
                    value=raw(message["value"]),
                    key=raw(message["key"]),
                    headers=[(name, raw(value)) for name, value in message["headers"]],
                    partition=message["partition"],
                    timestamp_ms=message["timestamp_ms"],
                )
                for message in messages
            ]
            producer.flush()
            stored = [future.get(CALL_SECONDS_MAX) for future in sent]
        finally:
            producer.close(timeout=CALL_SECONDS_MAX)
        return [[metadata.partition, metadata.offset] for metadata in stored]

    def idempotence(self, idempotent: bool) -> dict[str, Any]:
        return {"enable_idempotence": idempotent}

    # ── transactions ──────────────────────────────────────────────────────────────────────────────────────────────────

    def begin_transactional(self, transactional_id: str, timeout_ms: int = 60_000) -> None:
        self._transactional = KafkaProducer(
            transactional_id=transactional_id, transaction_timeout_ms=timeout_ms, linger_ms=5, **self.common
        )
        self._transactional.init_transactions()

    def begin_transaction(self) -> None:
        self._transactional.begin_transaction()

    def write(self, topic: str, values: list[str]) -> None:
        sent = [self._transactional.send(topic, value=raw(value)) for value in values]
        self._transactional.flush()
        for future in sent:
            future.get(CALL_SECONDS_MAX)

    def send_offsets(self, group: str, offsets: list[list[Any]]) -> None:
        wanted = {
            TopicPartition(topic, partition): self.offset_and_metadata(offset, "")
            for topic, partition, offset in offsets
        }
        self._transactional.send_offsets_to_transaction(wanted, group)

    def end_transaction(self, commit: bool) -> None:
        if commit:
            self._transactional.commit_transaction()
        else:
            self._transactional.abort_transaction()

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
        """A `poll` of version 3 whose time is up just when the consumer has begun to join again because of new metadata
        never ends that join. Who tells stories of that gives it turns that are longer than the story.
        """
        self.turn_seconds = turn_seconds
        options = {"group_instance_id": instance} if instance is not None else {}
        self.consumer = KafkaConsumer(
            group_id=group,
            partition_assignment_strategy=[self.assignor(name) for name in assignors or ["range"]],
            session_timeout_ms=session_timeout_ms,
            heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
            fetch_max_wait_ms=FETCH_MAX_WAIT_MS,
            metadata_max_age_ms=metadata_max_age_ms,
            enable_auto_commit=auto_commit,
            auto_offset_reset=reset,
            **options,
            **self.common,
        )
        self.consumer.subscribe(topics=topics or (), pattern=pattern, listener=Listener())
        self.consumer.topics()  # it knows them before it joins, and need not join again when it learns of them
        self.is_consuming = True

    def assignor(self, name: str) -> type:
        from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
        from kafka.coordinator.assignors.range import RangePartitionAssignor
        from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
        from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

        known: list[type] = [
            RangePartitionAssignor,
            RoundRobinPartitionAssignor,
            StickyPartitionAssignor,
            CooperativeStickyAssignor,
        ]
        return next(assignor for assignor in known if getattr(assignor, "name") == name)  # noqa: B009

    def assign(
        self,
        partitions: list[list[Any]],
        offset: int | None = None,
        group: str | None = None,
        reset: str = "earliest",
        isolation: str = "read_uncommitted",
    ) -> None:
        """`offset`: where to begin in all of them; None: where the group left off, or where `reset` says."""
        self.consumer = KafkaConsumer(
            group_id=group,
            auto_offset_reset=reset,
            enable_auto_commit=False,
            fetch_max_wait_ms=FETCH_MAX_WAIT_MS,
            **({} if isolation == "read_uncommitted" else {"isolation_level": isolation}),
            **self.common,
        )
        wanted = [TopicPartition(*partition) for partition in partitions]
        self.consumer.assign(wanted)
        if offset is not None:
            for partition in wanted:
                self.consumer.seek(partition, offset)
        self.is_consuming = True

    def turn(self) -> None:
        polled = self.consumer.poll(timeout_ms=int(self.turn_seconds * 1000))
        say_polled(polled)

    def seek(self, topic: str, partition: int, offset: int) -> None:
        self.consumer.seek(TopicPartition(topic, partition), offset)

    def position(self, topic: str, partition: int) -> int:
        position: int = self.consumer.position(TopicPartition(topic, partition))
        return position

    def commit(self, offsets: list[list[Any]] | None = None) -> None:
        """`offsets`: [topic, partition, offset, metadata] each; None: what was consumed."""
        self.consumer.commit(
            None
            if offsets is None
            else {
                TopicPartition(topic, partition): self.offset_and_metadata(offset, metadata)
                for topic, partition, offset, metadata in offsets
            }
        )

    def offset_and_metadata(self, offset: int, metadata: str) -> Any:
        return kafka.OffsetAndMetadata(offset, metadata, -1)

    def committed(self, topic: str, partition: int) -> list[Any] | None:
        found = self.consumer.committed(TopicPartition(topic, partition), metadata=True)
        return None if found is None else [found.offset, found.metadata]

    def beginning_offset(self, topic: str, partition: int) -> int:
        asked = TopicPartition(topic, partition)
        offset: int = self.consumer.beginning_offsets([asked])[asked]
        return offset

    def end_offset(self, topic: str, partition: int) -> int:
        asked = TopicPartition(topic, partition)
        offset: int = self.consumer.end_offsets([asked])[asked]
        return offset

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        asked = TopicPartition(topic, partition)
        found = self.consumer.offsets_for_times({asked: timestamp_ms})[asked]
        return None if found is None else found.offset

    def close(self) -> None:
        self.is_consuming = False
        self.consumer.close()

    # ── administration ────────────────────────────────────────────────────────────────────────────────────────────────

    def create_topic(self, topic: str, partitions: int = 1, configs: dict[str, str] | None = None) -> None:
        new = NewTopic(topic, num_partitions=partitions, replication_factor=1, topic_configs=configs or {})
        self.admin.create_topics([new])

    def delete_topic(self, topic: str) -> None:
        self.admin.delete_topics([topic])

    def topics(self) -> dict[str, int]:
        described = self.admin.describe_topics()
        return {topic["name"]: len(topic["partitions"]) for topic in described}

    def add_partitions(self, topic: str, total: int) -> None:
        self.admin.create_partitions({topic: total})

    def topic_configs(self, topic: str) -> dict[str, str]:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        described = self.admin.describe_configs([resource], config_filter="all")["topic"][topic]
        return {name: config["value"] for name, config in described.items()}

    def broker_configs(self, node_id: int) -> dict[str, str]:
        resource = ConfigResource(ConfigResourceType.BROKER, str(node_id))
        described = self.admin.describe_configs([resource], config_filter="all")["broker"][str(node_id)]
        return {name: config["value"] for name, config in described.items()}

    def change_topic_config(self, topic: str, name: str, operation: str, value: str | None = None) -> None:
        """One change (IncrementalAlterConfigs); operations: set, delete, append, subtract."""
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, {name: (operation.upper(), value)})
        self.admin.alter_configs([resource], incremental=True)

    def groups(self) -> list[str]:
        return [group["group_id"] for group in self.admin.list_groups()]

    def group(self, group: str) -> dict[str, Any]:
        described = self.admin.describe_groups([group])[group]
        return {
            "state": described["group_state"],
            "protocol": described["protocol_data"],
            "members": [
                {
                    "client_id": member["client_id"],
                    "host": member["client_host"],
                    "instance": member["group_instance_id"],
                    "partitions": [
                        [topic["topic"], partition]
                        for topic in (member["member_assignment"] or {}).get("assigned_partitions", ())
                        for partition in topic["partitions"]
                    ],
                }
                for member in described["members"]
            ],
        }

    def delete_group(self, group: str) -> None:
        (result,) = self.admin.delete_groups([group]).values()
        if result != "OK":  # the name of an error
            check(getattr(kafka.errors, result))

    def group_offsets(self, group: str) -> list[list[Any]]:
        found = self.admin.list_group_offsets({group: None})[group]
        return sorted([at.topic, at.partition, entry.offset, entry.metadata] for at, entry in found.items())

    def set_group_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        at = TopicPartition(topic, partition)
        check(self.admin.alter_group_offsets(group, {at: self.offset_and_metadata(offset, "")})[at])

    def delete_group_offset(self, group: str, topic: str, partition: int) -> None:
        at = TopicPartition(topic, partition)
        check(self.admin.delete_group_offsets(group, [at])[at])

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        at = TopicPartition(topic, partition)
        low: int = self.admin.delete_records({at: before})[at]["low_watermark"]
        return low

    def cluster(self) -> dict[str, Any]:
        described = self.admin.describe_cluster()
        return {
            "cluster_id": described["cluster_id"],
            "nodes": [[broker["broker_id"], broker["host"], broker["port"]] for broker in described["brokers"]],
        }

    def log_sizes(self, topic: str) -> dict[str, int]:
        """The bytes of each partition of a topic, from all directories."""
        return {
            str(partition["partition_index"]): partition["partition_size"]
            for node in self.admin.describe_log_dirs({topic: [0]})
            for directory in node["log_dirs"]
            for found in directory["topics"]
            for partition in found["partitions"]
        }

    def reassign(self, topic: str, partition: int, nodes: list[int] | None) -> None:
        at = TopicPartition(topic, partition)
        error = self.admin.alter_partition_reassignments({at: nodes})[at]
        if error is not None:
            check(error)

    def reassignments(self) -> list[list[Any]]:
        return [[at.topic, at.partition] for at in self.admin.list_partition_reassignments()]

    def replicas(self, topic: str) -> list[list[int]]:
        (described,) = self.admin.describe_topics([topic])
        return [partition["replica_nodes"] for partition in described["partitions"]]

    def quorum(self) -> dict[str, Any]:
        """Who leads it, and who votes."""
        partition = self.admin.describe_metadata_quorum()["topics"][0]["partitions"][0]
        return {
            "leader": partition["leader_id"],
            "voters": [voter["replica_id"] for voter in partition["current_voters"]],
        }

    def config_resources(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = self.admin.list_config_resources()
        return found

    def feature(self, name: str) -> list[int]:
        """(lowest and highest level, the one that holds)"""
        found = self.admin.describe_features()[name]
        return [*found["supported"], found["finalized"][1]]

    def set_feature(self, name: str, level: int) -> None:
        self.admin.update_features({name: level})

    def users(self, name: str | None = None) -> dict[str, Any]:
        """Those that have passwords, all of them or the one that is named."""
        found = self.admin.describe_user_scram_credentials(None if name is None else [name])
        for user in found.values():
            if user["error"] is not None:
                raise Refused(ErrorCode.RESOURCE_NOT_FOUND, user["error"])
        return dict(found)

    def move_replica(self, topic: str, partition: int, node: int, directory: str) -> None:
        (error,) = self.admin.alter_replica_log_dirs({(topic, partition, node): directory}).values()
        check(error)


class Listener(kafka.ConsumerRebalanceListener):  # type: ignore[misc]
    def on_partitions_revoked(self, revoked: Any) -> None:
        say(revoked=sorted(revoked))

    def on_partitions_assigned(self, assigned: Any) -> None:
        say(assigned=sorted(assigned))

    def on_partitions_lost(self, lost: Any) -> None:
        say(lost=sorted(lost))


def check(error: Any) -> None:
    """The admin client returns classes of errors, NoError among them."""
    if error.errno != 0:
        raise Refused(error.errno, error.__name__)


if __name__ == "__main__":
    main(KafkaPython)
