"""What a test itself asks of a broker: topics to play with, and what became of groups and logs.

Works against any broker, and asks by raw requests, so that no client is tested by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_partitions import CreatePartitionsRequest
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from ottla.protocol.messages.describe_configs import DescribeConfigsRequest
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from ottla.protocol.messages.list_offsets import ListOffsetsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.produce import ProduceRequest
from tests.support.batches import batch
from tests.support.client import Client
from tests.support.patience import PATIENCE_SECONDS

#: Resource types.
_TOPIC: Final = 2
_BROKER: Final = 4
#: What ListOffsets is asked for.
_LATEST: Final = -1
_EARLIEST: Final = -2


class Backstage:
    """A connection to one node of a broker."""

    def __init__(self, bootstrap: str) -> None:
        self._client = Client(bootstrap.partition(",")[0], client_id="backstage", timeout_seconds=PATIENCE_SECONDS)

    def create_topic(self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """Make a topic, and wait until each partition has a leader that serves it."""
        new = CreateTopicsRequest.CreatableTopic(
            topic,
            partitions,
            1,
            configs=[CreateTopicsRequest.CreatableTopicConfig(*entry) for entry in (configs or {}).items()],
        )
        created = self._client.ask(CreateTopicsRequest([new], timeout_ms=10_000), 7).topics[0]
        assert created.error_code == 0, f"{topic} was not created: {created}"
        self._until_led(topic, partitions)

    def change_topic(self, topic: str, configs: Mapping[str, str]) -> None:
        """Have a topic's configs say something else."""
        changes = [IncrementalAlterConfigsRequest.AlterableConfig(name, 0, value) for name, value in configs.items()]
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(_TOPIC, topic, changes)
        answer = self._client.ask(IncrementalAlterConfigsRequest([resource]), 1).responses[0]
        assert answer.error_code == 0, f"{topic} was not changed: {answer}"

    def add_partitions(self, topic: str, total: int) -> None:
        """Make a topic larger, and wait until its new partitions have leaders."""
        request = CreatePartitionsRequest([CreatePartitionsRequest.CreatePartitionsTopic(topic, total, None)], 10_000)
        added = self._client.ask(request, 3).results[0]
        assert added.error_code == 0, f"{topic} was not made larger: {added}"
        self._until_led(topic, total)

    def produce(self, topic: str, partition: int = 0, records: bytes | None = None) -> None:
        """Append a batch."""
        error = self.try_to_produce(topic, partition, records)
        assert error == 0, f"{topic} {partition}: {error}"

    def try_to_produce(self, topic: str, partition: int = 0, records: bytes | None = None) -> int:
        """Append a batch; returns the error."""
        data = ProduceRequest.PartitionProduceData(partition, records or batch())
        request = ProduceRequest(None, -1, 10_000, [ProduceRequest.TopicProduceData(topic, partition_data=[data])])
        error: int = self._client.ask(request, 9).responses[0].partition_responses[0].error_code
        return error

    def delete_topic(self, topic: str) -> None:
        """Delete a topic."""
        deleted = self._client.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=10_000), 4).responses[0]
        assert deleted.error_code == 0, f"{topic} was not deleted: {deleted}"

    def end_offset(self, topic: str, partition: int = 0) -> int:
        """The offset the next message of a partition will have."""
        return self._offset(topic, partition, _LATEST)

    def start_offset(self, topic: str, partition: int = 0) -> int:
        """The offset of the first message of a partition that is left."""
        return self._offset(topic, partition, _EARLIEST)

    def broker_config(self, name: str) -> str:
        """The value of a broker's setting."""
        node_id = self._client.ask(MetadataRequest(topics=[]), 12).brokers[0].node_id
        resource = DescribeConfigsRequest.DescribeConfigsResource(_BROKER, str(node_id), [name])
        value: str = self._client.ask(DescribeConfigsRequest([resource]), 4).results[0].configs[0].value
        return value

    def group(self, group: str) -> Any:
        """What DescribeGroups says of a group."""
        return self._client.ask(DescribeGroupsRequest([group]), 5).groups[0]

    def wait_for_group(self, group: str, state: str, members: int | None = None) -> Any:
        """Wait until a group is in this state, with so many members; returns its description."""
        self.wait_for_coordinator(group)

        def shows() -> bool:
            described = self.group(group)
            return described.group_state == state and members in (None, len(described.members))

        self.until(shows, f"{group} is {state} with {members} members")
        return self.group(group)

    def wait_for_coordinator(self, group: str) -> None:
        """Wait until a group has a coordinator, which a fresh Kafka has to make first."""

        def is_there() -> bool:
            found = self._client.ask(FindCoordinatorRequest(coordinator_keys=[group]), 4).coordinators[0]
            return found.error_code == 0 and self.group(group).error_code in (0, ErrorCode.GROUP_ID_NOT_FOUND)

        self.until(is_there, f"{group} has a coordinator")

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Look again and again until `holds`, which is `what` in words."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < deadline, f"waited {PATIENCE_SECONDS} s in vain until {what}"
            time.sleep(0.005)

    def _until_led(self, topic: str, partitions: int) -> None:
        self.until(
            lambda: all(self._list_offset(topic, index, _LATEST).error_code == 0 for index in range(partitions)),
            f"{topic} has {partitions} partitions with leaders",
        )

    def _offset(self, topic: str, partition: int, timestamp: int) -> int:
        found = self._list_offset(topic, partition, timestamp)
        assert found.error_code == 0, f"{topic} {partition}: {found}"
        offset: int = found.offset
        return offset

    def _list_offset(self, topic: str, partition: int, timestamp: int) -> Any:
        asked = ListOffsetsRequest.ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
        request = ListOffsetsRequest(topics=[ListOffsetsRequest.ListOffsetsTopic(topic, [asked])])
        return self._client.ask(request, 5).topics[0].partitions[0]

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
