"""What may be put around the storage of logs and around the group log: here, that they fail when they are told to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ottla.coordinator.runtime.effects import Writer
from ottla.coordinator.runtime.log import Log as GroupLog
from ottla.coordinator.runtime.records import Record
from ottla.log.storage.contract import LogStorage, StorageError
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.produce import ProduceRequest
from tests.support.batches import batch
from tests.support.client import Client
from tests.support.running_broker import RunningBroker


class FailingStorage:
    """A storage whose second append fails; all else is the real one's."""

    def __init__(self, real: LogStorage) -> None:
        self._real = real
        self._appends = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def append(self, *arguments: Any) -> None:
        self._appends += 1
        if self._appends == 2:
            raise StorageError("the second append fails")
        self._real.append(*arguments)


def fail_orders(storage: LogStorage, topic: str, index: int) -> LogStorage:
    wrapped: Any = FailingStorage(storage) if (topic, index) == ("orders", 1) else storage
    kept: LogStorage = wrapped
    return kept


@pytest.mark.parametrize("is_on_disk", [False, True], ids=["memory", "disk"])
def test_storage_of_one_partition_fails_when_it_is_told_to(is_on_disk: bool, tmp_path: Path) -> None:
    """The second batch is refused with KAFKA_STORAGE_ERROR, and the log goes on behind the first."""
    data_dir = tmp_path if is_on_disk else None
    with RunningBroker(wrap_storage=fail_orders, data_dir=data_dir) as broker, Client(broker.bootstrap) as client:
        for name in ("orders", "others"):
            client.ask(CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(name, 2, 1)], timeout_ms=1000), 5)

        def produce(topic: str, partition: int) -> tuple[int, int]:
            data = [ProduceRequest.PartitionProduceData(partition, batch())]
            produced = [ProduceRequest.TopicProduceData(name=topic, partition_data=data)]
            answer = client.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=produced), 7)
            (told,) = answer.responses[0].partition_responses
            return told.error_code, told.base_offset

        assert [produce("orders", 1) for _ in range(3)] == [(0, 0), (ErrorCode.KAFKA_STORAGE_ERROR, -1), (0, 1)]
        assert [produce("orders", 0) for _ in range(3)] == [(0, 0), (0, 1), (0, 2)]
        assert [produce("others", 1) for _ in range(3)] == [(0, 0), (0, 1), (0, 2)]


class RefusingGroupLog:
    """A group log that refuses what comes while it has a reason to."""

    def __init__(self, real: GroupLog) -> None:
        self.reason = ErrorCode.NONE
        self._real = real

    def append(self, partition: int, records: Sequence[Record], /) -> ErrorCode:
        return self.reason or self._real.append(partition, records)

    def append_in_transaction(self, partition: int, records: Sequence[Record], writer: Writer, /) -> ErrorCode:
        return self.reason or self._real.append_in_transaction(partition, records, writer)


def test_group_log_refuses_when_it_is_told_to() -> None:
    """A commit is refused, with the error that Kafka makes of NOT_ENOUGH_REPLICAS there; the next one is taken."""
    logs: list[RefusingGroupLog] = []

    def wrap(real: GroupLog) -> GroupLog:
        logs.append(RefusingGroupLog(real))
        return logs[0]

    with RunningBroker(wrap_group_log=wrap) as broker, Client(broker.bootstrap) as client:
        client.ask(CreateTopicsRequest([CreateTopicsRequest.CreatableTopic("orders", 1, 1)], timeout_ms=1000), 5)
        client.ask(FindCoordinatorRequest("g"), 1)
        partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, 7)
        topic = OffsetCommitRequest.OffsetCommitRequestTopic("orders", partitions=[partition])

        def commit() -> int:
            error_code: int = client.ask(OffsetCommitRequest("g", topics=[topic]), 7).topics[0].partitions[0].error_code
            return error_code

        assert commit() == ErrorCode.NONE
        logs[0].reason = ErrorCode.NOT_ENOUGH_REPLICAS
        assert commit() == ErrorCode.COORDINATOR_NOT_AVAILABLE
        logs[0].reason = ErrorCode.NONE
        assert commit() == ErrorCode.NONE
