"""`kill -9` of the whole broker at each step of a transaction, and at random: all of it is there then, or nothing."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support.ottla_process import ottla
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_ports
from tests.support.soak import rounds
from tests.transactions.driver import PLACES, Driver

_SETTINGS: Final = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}


class Mortal:
    """A broker that is killed and started again, at one address and over one directory."""

    def __init__(self, directory: Path) -> None:
        (port,) = free_ports(1)
        self.bootstrap = f"127.0.0.1:{port}"
        self._arguments = ("--listen", self.bootstrap, "--data-dir", str(directory), "--log-level", "warning")
        self._stack = ExitStack()

    def start(self) -> None:
        self._broker = self._stack.enter_context(ottla(_SETTINGS, *self._arguments))

    def kill(self) -> None:
        self._broker.process.send_signal(signal.SIGKILL)
        self._broker.process.wait()
        self._stack.close()

    def restart(self) -> None:
        self.kill()
        self.start()


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Mortal]:
    mortal = Mortal(tmp_path)
    mortal.start()
    yield mortal
    mortal.kill()


@pytest.mark.parametrize("version", [1, 2])
def test_killed_between_any_two_steps(mortal: Mortal, version: int) -> None:
    """The producer goes on where it was: each of the transactions commits, and those between are aborted."""
    with Driver(lambda: [mortal.bootstrap], version) as driver:
        driver.create_topic()
        for place in range(PLACES):

            def between(number: int, place: int = place) -> None:
                if number == place:
                    mortal.restart()

            driver.run(b"%d" % place, place, commit=True, between=between)
            driver.run(b"never", 99, commit=False)
            assert driver.committed_offset() == place
        for index in (0, 1):
            assert driver.committed_values(index) == [b"%d" % place for place in range(PLACES)]


@pytest.mark.parametrize("steps", range(2, 7))
def test_who_is_killed_with_its_producer_has_done_all_or_nothing(mortal: Mortal, steps: int) -> None:
    """A new producer of the same id finds the transaction committed if the end was answered, and aborts it if not."""
    with Driver(lambda: [mortal.bootstrap]) as driver:
        driver.create_topic()
        for step in driver.steps(b"1", 1, commit=True)[:steps]:
            step()
        mortal.restart()
        driver.succeed()
        is_done = steps == 6
        for index in (0, 1):
            assert driver.committed_values(index) == ([b"1"] if is_done else [])
        assert driver.committed_offset() == (1 if is_done else -1)


def partition_of(message: Message) -> int:
    index = message.partition()
    assert index is not None
    return index


class Copying:
    """Numbers in transactions: two of each, one in either partition, with an offset; until it is over."""

    def __init__(self, bootstrap: str) -> None:
        self._client: dict[str, str | int | float | bool] = {
            "bootstrap.servers": bootstrap,
            "log_level": 0,
            "reconnect.backoff.max.ms": 100,
        }
        #: The numbers whose commit was answered with success.
        self.committed: list[int] = []
        #: Those of which nobody knows: the answer was lost.
        self.unknown: list[int] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @contextmanager
    def going_on(self) -> Iterator[None]:
        admin = AdminClient(self._client)
        (made,) = admin.create_topics([NewTopic("numbers", 2, 1)]).values()
        made.result(PATIENCE_SECONDS)
        self._thread.start()
        try:
            yield
        finally:
            self.end()

    def end(self) -> None:
        self._is_over.set()
        self._thread.join(3 * PATIENCE_SECONDS)
        assert not self._thread.is_alive()

    def wait_for_progress(self, count: int) -> None:
        before, deadline = len(self.committed), time.monotonic() + 3 * PATIENCE_SECONDS
        while len(self.committed) < before + count:
            assert time.monotonic() < deadline, "nothing is committed any more"
            time.sleep(0.002)

    def _run(self) -> None:
        number, producer = 0, self._producer()
        while not self._is_over.is_set():
            try:
                producer.begin_transaction()
                for index in (0, 1):
                    producer.produce("numbers", str(number), partition=index)
                is_kept = number % 5 != 4
                if is_kept:
                    producer.commit_transaction(PATIENCE_SECONDS)
                    self.committed.append(number)
                else:
                    producer.flush(PATIENCE_SECONDS)  # or librdkafka gives the numbers of what is under way to others
                    producer.abort_transaction(PATIENCE_SECONDS)
            except KafkaException:
                if number % 5 != 4:
                    self.unknown.append(number)
                producer = self._producer()
            number += 1

    def _producer(self) -> Producer:
        producer = Producer(self._client | {"transactional.id": "copier", "linger.ms": 0})
        producer.init_transactions(3 * PATIENCE_SECONDS)
        return producer

    def check(self) -> None:
        """Both partitions have the same, each number once, and all that was promised."""
        consumer = Consumer(
            self._client | {"group.id": "reader", "enable.partition.eof": True, "isolation.level": "read_committed"}
        )
        consumer.assign([TopicPartition("numbers", index, 0) for index in (0, 1)])
        read: dict[int, list[int]] = {0: [], 1: []}
        ended: set[int] = set()
        while len(ended) < 2:
            message = consumer.poll(PATIENCE_SECONDS)
            assert message is not None
            if message.error():
                ended.add(partition_of(message))
            else:
                read[partition_of(message)].append(int(message.value() or b""))
        consumer.close()
        assert read[0] == read[1] == sorted(set(read[0]))
        assert set(self.committed) <= set(read[0]) <= {*self.committed, *self.unknown}


@pytest.mark.soak
def test_killed_at_random_under_a_transactional_producer(mortal: Mortal) -> None:
    """Whoever reads what is committed counts each exactly once."""
    chance = random.Random(os.environ.get("OTTLA_SEED", "1"))
    story = Copying(mortal.bootstrap)
    with story.going_on():
        for _ in range(rounds(short=2, long=30)):
            story.wait_for_progress(5)
            deadline = time.monotonic() + chance.uniform(0, 0.1)
            while time.monotonic() < deadline:
                time.sleep(0.001)
            mortal.restart()
        story.wait_for_progress(5)
        story.end()
        story.check()
