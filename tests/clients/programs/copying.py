"""Copies a topic to another one with confluent-kafka, each batch with its offsets in a transaction, until it is killed.

It is a member of a group, and the target has as many partitions as the source. Some transactions are aborted, and done
again. If anything goes wrong it ends, and whoever started it starts it anew, under the same transactional id.

    python -m tests.clients.programs.copying BOOTSTRAP SOURCE TARGET GROUP TRANSACTIONAL_ID
"""

from __future__ import annotations

import random
import signal
import sys
from collections.abc import Callable
from typing import Final

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

_BATCH: Final = 20
_POLL_SECONDS: Final = 0.1
_CALL_SECONDS: Final = 30.0
#: After a broker was away sending offsets may last for ever: librdkafka's issues 5456 and 5511. Then this ends, too.
_STUCK_SECONDS: Final = 5
#: So often one is aborted.
_ABORTED: Final = 0.2


class Copying:
    """The consumer and the producer."""

    def __init__(self, bootstrap: str, source: str, target: str, group: str, transactional_id: str) -> None:
        self._target = target
        #: What is to be copied next. When partitions come or go it is somebody else's, or is read again.
        self._batch: list[Message] = []
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "session.timeout.ms": 1_500,
                "heartbeat.interval.ms": 200,
                "partition.assignment.strategy": "range",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "transactional.id": transactional_id, "transaction.timeout.ms": 3_000}
        )
        _insist(lambda: self._producer.init_transactions(_CALL_SECONDS))
        self._consumer.subscribe(
            [source], on_assign=self._rebalance, on_revoke=self._rebalance, on_lost=self._rebalance
        )

    def copy(self) -> None:
        """Copy what has come, up to a batch of it."""
        self._take()
        if not self._batch:
            return
        self._producer.begin_transaction()
        for message in self._batch:
            self._producer.produce(self._target, message.value(), partition=_place(message).partition)
        member = self._consumer.consumer_group_metadata()
        _insist(lambda: self._producer.send_offsets_to_transaction(self._ends(), member, _CALL_SECONDS))
        if random.random() < _ABORTED:
            _insist(lambda: self._producer.abort_transaction(_CALL_SECONDS))
            for message in reversed(self._batch):
                self._consumer.seek(_place(message))
        else:
            _insist(lambda: self._producer.commit_transaction(_CALL_SECONDS))

    def _take(self) -> None:
        self._batch.clear()
        while len(self._batch) < _BATCH and (message := self._consumer.poll(_POLL_SECONDS)) is not None:
            if message.error() is None:
                self._batch.append(message)

    def _ends(self) -> list[TopicPartition]:
        """How far this batch goes in each partition."""
        last = {message.partition(): message for message in self._batch}
        return [_place(message, 1) for message in last.values()]

    def _rebalance(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        self._batch.clear()


def _place(message: Message, further: int = 0) -> TopicPartition:
    """Where a message is, or what comes behind it."""
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    return TopicPartition(topic, partition, offset + further)


def _insist(call: Callable[[], None]) -> None:
    """Call it until it comes to an end, as confluent-kafka has it."""
    while True:
        try:
            return call()
        except KafkaException as failed:
            if not failed.args[0].retriable():
                raise


if __name__ == "__main__":
    copying = Copying(*sys.argv[1:])
    while True:
        signal.alarm(_STUCK_SECONDS)
        copying.copy()
