"""kafka-python 2.0.2, still found in many places: what it has other names or shapes for than version 3."""

from __future__ import annotations

from typing import Any

import kafka
from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions
from kafka.errors import for_code

from tests.clients.programs.kafka_python import KafkaPython, check
from tests.clients.programs.program import main


class KafkaPython2(KafkaPython):
    def idempotence(self, idempotent: bool) -> dict[str, Any]:
        assert not idempotent, "it has no idempotent producer"
        return {}

    def assignor(self, name: str) -> Any:
        from kafka.coordinator.assignors.range import RangePartitionAssignor
        from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
        from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

        known = (RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor)
        return {assignor.name: assignor for assignor in known}[name]

    def offset_and_metadata(self, offset: int, metadata: str) -> Any:
        return kafka.OffsetAndMetadata(offset, metadata)

    def topics(self) -> dict[str, int]:
        return {topic["topic"]: len(topic["partitions"]) for topic in self.admin.describe_topics()}

    def add_partitions(self, topic: str, total: int) -> None:
        self.admin.create_partitions({topic: NewPartitions(total)})

    def topic_configs(self, topic: str) -> dict[str, str]:
        return self._configs(ConfigResource(ConfigResourceType.TOPIC, topic))

    def broker_configs(self, node_id: int) -> dict[str, str]:
        return self._configs(ConfigResource(ConfigResourceType.BROKER, str(node_id)))

    def _configs(self, resource: ConfigResource) -> dict[str, str]:
        ((error, _, _, _, entries),) = self.admin.describe_configs([resource])[0].resources
        check(for_code(error))
        return {name: value for name, value, *_ in entries}

    def replace_topic_configs(self, topic: str, configs: dict[str, str]) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs)
        ((error, *_),) = self.admin.alter_configs([resource]).resources
        check(for_code(error))

    def groups(self) -> list[str]:
        return [group for group, _ in self.admin.list_consumer_groups()]

    def group(self, group: str) -> dict[str, Any]:
        (described,) = self.admin.describe_consumer_groups([group])
        return {
            "state": described.state,
            "protocol": described.protocol,
            "members": [
                {
                    "client_id": member.client_id,
                    "host": member.client_host,
                    "instance": None,  # not among what it asks for
                    "partitions": [
                        [topic, partition]
                        for topic, partitions in (
                            member.member_assignment.assignment if member.member_assignment else ()
                        )
                        for partition in partitions
                    ],
                }
                for member in described.members
            ],
        }

    def delete_group(self, group: str) -> None:
        ((_, error),) = self.admin.delete_consumer_groups([group])
        check(error)

    def group_offsets(self, group: str) -> list[list[Any]]:
        found = self.admin.list_consumer_group_offsets(group)
        return sorted([at.topic, at.partition, entry.offset, entry.metadata] for at, entry in found.items())

    def cluster(self) -> dict[str, Any]:
        described = self.admin.describe_cluster()
        return {
            "cluster_id": described["cluster_id"],
            "nodes": [[broker["node_id"], broker["host"], broker["port"]] for broker in described["brokers"]],
        }


# Not in this version.
for word in ("change_topic_config", "set_group_offset", "delete_group_offset", "delete_records", "log_sizes"):
    setattr(KafkaPython2, word, None)

if __name__ == "__main__":
    main(KafkaPython2)
