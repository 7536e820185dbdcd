"""Transactional producers, and a reader of what they commit, which counts each record exactly once.

    transfers = Transfers(start, "transfers", partitions=3)
    transfers.begin()
    while …:
        …something happens to the broker…
        transfers.goes_on()      # each producer has ended a transaction, and is at the next one
        transfers.check_so_far()
    transfers.end()              # what was committed is there once, what was aborted nowhere, with the offsets

A transfer is a record in each partition and an offset, its own number, for its producer's group. Every third is
aborted. Where the answer to a commit was lost, with the broker that gave it, all of the
transfer is there or nothing.

The producers are confluent-kafka's, as everywhere in the drills: one that is told that its broker is gone goes on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Final

from tests.clients.client_process import ClientProcess, TopicPartition, until
from tests.clients.conftest import Start
from tests.clients.libraries import CONFLUENT

_PRODUCERS: Final = 2
_ABORTED_EVERY: Final = 3
_COMMITTED, _ABORTED, _UNKNOWN = "committed", "aborted", "unknown"


class _Producer:
    """Who makes transfers one after the other, under a transactional id of its own."""

    def __init__(self, process: ClientProcess, topic: str, partitions: int) -> None:
        self.group = process.client_id
        self.process = process
        self._topic, self._partitions = topic, partitions
        #: By number, what came of them.
        self.ended: list[str] = []

    def values_of(self, outcome: str) -> set[bytes]:
        return {self.value(number) for number, ended in enumerate(self.ended) if ended == outcome}

    def value(self, number: int) -> bytes:
        return f"{self.group} {number}".encode()

    def transfer(self) -> None:
        """Begin the next."""
        number = len(self.ended)
        value = self.value(number).decode()
        self.process.tell(
            "transact",
            transactional_id=self.group,
            topic=self._topic,
            values=[[partition, value] for partition in range(self._partitions)],
            group=self.group,
            offset=number,
            commit=number % _ABORTED_EVERY != _ABORTED_EVERY - 1,
        )

    def take_answer(self) -> None:
        self.ended.append(self.process.answer("transact"))

    def end(self) -> None:
        """The last is one that is committed, so that whoever has read it has read all that may come before it."""
        self.take_answer()
        while self.ended[-1] != _COMMITTED:
            self.transfer()
            self.take_answer()


class Transfers:
    """A topic, who makes transfers in it, and who reads those that are committed."""

    def __init__(self, start: Start, name: str, *, partitions: int) -> None:
        self.name = name
        self._partitions = partitions
        self._producers = [
            _Producer(start(CONFLUENT, f"{name}-{number}"), name, partitions) for number in range(_PRODUCERS)
        ]
        self._reader = start(CONFLUENT, f"{name}-reader")

    def begin(self) -> None:
        """Return when the reader reads, the first transfers have ended and the next ones are on their way."""
        self._reader.assign(*self._logs(), isolation="read_committed")
        for producer in self._producers:
            producer.transfer()
        self.goes_on()

    def goes_on(self) -> None:
        """Return when the transfers under way have ended, and the next ones are."""
        for producer in self._producers:
            producer.take_answer()
            producer.transfer()

    def check_so_far(self) -> None:
        """Nothing that was aborted has been read, nothing twice, and each producer's in its order."""
        for partition, values in self._read().items():
            assert max(Counter(values).values()) == 1, f"{self.name} {partition}: repeats"
            for producer in self._producers:
                assert producer.values_of(_ABORTED).isdisjoint(values), f"{self.name} {partition}: aborted, and read"
                numbers = [int(number) for who, number in map(bytes.split, values) if who == producer.group.encode()]
                assert numbers == sorted(numbers), f"{self.name} {partition}: out of order"

    def end(self) -> None:
        """Return when everything is read: all that was committed, and of what nobody knows all or nothing."""
        for producer in self._producers:
            producer.end()
        last = {producer.value(len(producer.ended) - 1) for producer in self._producers}
        until(
            lambda: all(last <= set(self._read()[partition]) for partition in range(self._partitions)),
            "all that was committed is read",
            self._reader,
        )
        assert not self._reader.failures, self._reader.story
        self.check_so_far()
        read = {partition: set(values) for partition, values in self._read().items()}
        committed, unknown = self._values_of(_COMMITTED), self._values_of(_UNKNOWN)
        for partition, values in read.items():
            assert values == read[0], f"{self.name} {partition}: half a transfer"
            assert committed <= values <= committed | unknown, f"{self.name} {partition}: lost, or never written"
        for producer in self._producers:
            self._check_offset(producer)

    def _check_offset(self, producer: _Producer) -> None:
        """The last transfer's is committed with it; the marker in the group's log may come a little later."""
        last = len(producer.ended) - 1

        def committed() -> dict[TopicPartition, int]:
            entries = producer.process.group_offsets(group=producer.group)
            return {(topic, partition): offset for topic, partition, offset, _ in entries}

        until(lambda: committed() == {(self.name, 0): last}, f"{producer.group}'s offset is {last}", producer.process)

    def _logs(self) -> list[TopicPartition]:
        return [(self.name, partition) for partition in range(self._partitions)]

    def _values_of(self, outcome: str) -> set[bytes]:
        return set().union(*(producer.values_of(outcome) for producer in self._producers))

    def _read(self) -> dict[int, list[bytes]]:
        read: dict[int, list[bytes]] = defaultdict(list)
        for message in list(self._reader.messages):
            read[message.partition or 0].append(message.value or b"")
        return read
