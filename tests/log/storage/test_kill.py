"""`kill -9` while producers write and a group commits: what was acknowledged is there, once, in order."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support.ottla_process import OttlaProcess, ottla
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_ports
from tests.support.soak import IS_SOAK, rounds

TOPIC: Final = "orders"
PARTITIONS: Final = 3
#: Segments are so small that most kills come near a roll.
CONFIGS: Final = {"internal.segment.bytes": "20000"}


def partition_of(message: Message) -> int:
    partition = message.partition()
    assert partition is not None
    return partition


class Story:
    """A producer and a committing group beside a broker that dies now and then; and what they were promised."""

    def __init__(self, bootstrap: str) -> None:
        self._client: dict[str, str | int | float | bool] = {
            "bootstrap.servers": bootstrap,
            "log_level": 0,
            "reconnect.backoff.max.ms": 100,
        }
        #: Per partition, in the order of sending: the numbers that were acknowledged.
        self.acknowledged: dict[int, list[int]] = defaultdict(list)
        #: Per partition: the highest offset whose commit was acknowledged.
        self.committed: dict[int, int] = {}
        self.failures: list[str] = []
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._produce, self._commit)]

    @property
    def acknowledged_count(self) -> int:
        return sum(map(len, self.acknowledged.values()))

    @contextmanager
    def going_on(self) -> Iterator[None]:
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self.end()

    def end(self) -> None:
        """Send nothing more, and wait for what was sent."""
        self._is_over.set()
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)

    def wait_for_progress(self) -> None:
        """Return when more has been acknowledged than before."""
        before, deadline = self.acknowledged_count, time.monotonic() + PATIENCE_SECONDS
        while self.acknowledged_count < before + 20:
            assert time.monotonic() < deadline, "nothing is acknowledged any more"
            time.sleep(0.002)

    def _produce(self) -> None:
        admin = AdminClient(self._client)
        (made,) = admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1, config=CONFIGS)]).values()
        made.result(PATIENCE_SECONDS)
        producer = Producer(self._client | {"enable.idempotence": True, "linger.ms": 0, "batch.size": 4000})
        number = 0
        while not self._is_over.is_set():
            if len(producer) > 1000:
                producer.poll(0.01)
                continue
            producer.produce(TOPIC, str(number), partition=number % PARTITIONS, on_delivery=self._delivered)
            number += 1
            producer.poll(0.0005)
        assert producer.flush(PATIENCE_SECONDS) == 0

    def _delivered(self, error: Any, message: Message) -> None:
        if error is not None:
            self.failures.append(str(error))
        else:
            self.acknowledged[partition_of(message)].append(int(message.value() or b""))

    def _commit(self) -> None:
        consumer = Consumer(self._client | {"group.id": "group", "enable.auto.commit": False})
        offset = 0
        while not self._is_over.is_set():
            offset += 1
            try:
                answers = consumer.commit(
                    offsets=[TopicPartition(TOPIC, index, offset) for index in range(PARTITIONS)], asynchronous=False
                )
            except KafkaException:
                continue
            for answer in answers or ():
                if answer.error is None:
                    self.committed[answer.partition] = offset
        consumer.close()

    def check(self) -> None:
        """Hold the broker to its promises."""
        assert self.failures == []
        consumer = Consumer(self._client | {"group.id": "group", "enable.partition.eof": True, "check.crcs": True})
        partitions = [TopicPartition(TOPIC, index) for index in range(PARTITIONS)]
        for found in consumer.committed(partitions, PATIENCE_SECONDS):
            assert found.offset >= self.committed[found.partition]
        consumer.assign([TopicPartition(TOPIC, index, 0) for index in range(PARTITIONS)])
        read: dict[int, list[int]] = defaultdict(list)
        ended = 0
        while ended < PARTITIONS:
            message = consumer.poll(PATIENCE_SECONDS)
            assert message is not None
            if message.error():
                ended += 1
            else:
                values = read[partition_of(message)]
                assert message.offset() == len(values), "a hole in the log"
                values.append(int(message.value() or b""))
        consumer.close()
        assert read == self.acknowledged


@pytest.mark.soak
@pytest.mark.parametrize(
    "clean_every", [0, 2] if IS_SOAK else [2], ids=lambda every: "kills-and-stops" if every else "kills"
)
def test_killed_at_random_moments(tmp_path: Path, clean_every: int) -> None:
    """Again and again, also with a clean stop between."""
    chance = random.Random(os.environ.get("OTTLA_SEED", "1"))
    (port,) = free_ports(1)
    arguments = ("--listen", f"127.0.0.1:{port}", "--data-dir", str(tmp_path), "--log-level", "warning")
    story = Story(f"127.0.0.1:{port}")
    with story.going_on():
        for number in range(rounds(short=4, long=30)):
            with ottla(None, *arguments) as broker:
                let_live_a_while(story, broker, chance, is_clean=bool(clean_every) and number % clean_every == 0)
        with ottla(None, *arguments):
            story.wait_for_progress()
            story.end()
            story.check()
    assert len(story.committed) == PARTITIONS


def let_live_a_while(story: Story, broker: OttlaProcess, chance: random.Random, *, is_clean: bool) -> None:
    story.wait_for_progress()
    deadline = time.monotonic() + chance.uniform(0, 0.2)
    while time.monotonic() < deadline:
        time.sleep(0.001)
    broker.process.send_signal(signal.SIGTERM if is_clean else signal.SIGKILL)
    broker.process.wait()
