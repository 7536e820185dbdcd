"""Clients at work: a producer and the members of a group, each in a process of its own, and what must come of it.

    workload = Workload(start, CONFLUENT, "orders", partitions=3)
    workload.begin()
    while …:
        …something happens to the broker…
        workload.goes_on()       # one more order was acknowledged; the next one and a commit are under way
    workload.end()               # nothing is missing, nothing is there twice, nothing is out of order

The producer is idempotent and never idle: an order is a few hundred numbered messages, and the next one is given as
soon as the last is acknowledged. Members commit what they have received; a commit may be refused while nobody can take
it, and is as good as not asked for then.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from ottla.protocol.errors import ErrorCode
from tests.clients.client_process import ClientProcess, Message, RefusedError, TopicPartition, until
from tests.clients.conftest import Start
from tests.clients.libraries import Library
from tests.clients.sharing import LONG_MS, share

ORDER_MESSAGES: Final = 300


class Workload:
    """A topic, who writes to it, and the group that reads it; the topic and the group have one name."""

    def __init__(self, start: Start, library: Library, name: str, *, partitions: int, members: int = 2) -> None:
        self.name = name
        self._partitions = partitions
        self._producer: ClientProcess = start(library, f"{name}-producer")
        self._members: list[ClientProcess] = [start(library, f"{name}-{number}") for number in range(members)]
        #: Values in the order they were sent to each partition; all of them are acknowledged at the end.
        self._sent: dict[int, list[bytes]] = defaultdict(list)
        #: Where the broker said they are.
        self._stored: dict[int, list[int]] = defaultdict(list)
        #: What a commit was acknowledged for.
        self._committed: dict[TopicPartition, int] = {}
        #: What members have been told to commit and have not answered yet.
        self._committing: dict[ClientProcess, dict[TopicPartition, int]] = {}
        self._next = 0

    def begin(self) -> None:
        """Return when the members share the partitions and the first order is on its way."""
        for member in self._members:
            member.subscribe(group=self.name, topics=[self.name], session_timeout_ms=LONG_MS)
        share(self.name, self._partitions, self._members)
        self._order()

    def goes_on(self) -> None:
        """Return when the order and the commits are answered and the next ones under way."""
        self._take_answer()
        self._order()
        for member in self._members:
            self._take_commit(member)
            self._commit(member)

    def check_so_far(self) -> None:
        """What was acknowledged so far has the offsets that it has without loss and without repeats."""
        for partition, offsets in self._stored.items():
            assert offsets == list(range(len(offsets))), f"{self.name} {partition}: gaps or repeats"

    def end(self) -> None:
        """Return when everything has been read. Whatever was acknowledged is there, once, in order, and was read so."""
        self._take_answer()
        total = self._next
        until(lambda: sum(len(member.messages) for member in self._members) >= total, "all is read", *self._members)
        for member in self._members:
            assert not member.failures, member.story
            self._take_commit(member)
            self._commit(member)
            assert self._take_commit(member)
        received: dict[int, list[Message]] = defaultdict(list)
        for member in self._members:
            for message in member.messages:
                received[message.partition or 0].append(message)
        for partition, values in self._sent.items():
            assert self._stored[partition] == list(range(len(values))), f"{self.name} {partition}: gaps or repeats"
            assert [message.offset for message in received[partition]] == self._stored[partition]
            assert [message.value for message in received[partition]] == values
        offsets = {
            (topic, partition): offset
            for topic, partition, offset, _ in self._members[0].group_offsets(group=self.name)
        }
        assert offsets.keys() >= self._committed.keys()
        for where, offset in self._committed.items():
            assert offsets[where] >= offset, f"{self.name}: a commit of {where} was lost"

    def _order(self) -> None:
        messages = []
        for _ in range(ORDER_MESSAGES):
            partition = self._next % self._partitions
            value = b"%d" % self._next
            self._sent[partition].append(value)
            messages.append(Message(value, partition=partition).json())
            self._next += 1
        self._producer.tell("produce", topic=self.name, messages=messages, idempotent=True)

    def _take_answer(self) -> None:
        for partition, offset in self._producer.answer("produce"):
            self._stored[partition].append(offset)

    def _commit(self, member: ClientProcess) -> None:
        """Have the member commit what it has received of the partitions it holds."""
        ends = {
            (message.topic or self.name, message.partition or 0): (message.offset or 0) + 1
            for message in list(member.messages)
        }
        wanted = {where: ends[where] for where in member.holds if where in ends}
        if wanted:
            member.tell("commit", offsets=[[*where, offset, ""] for where, offset in wanted.items()])
            self._committing[member] = wanted

    def _take_commit(self, member: ClientProcess) -> bool:
        """Wait for the answer to the last commit; says whether it was acknowledged."""
        wanted = self._committing.pop(member, None)
        if wanted is None:
            return False
        try:
            member.answer("commit")
        except RefusedError as refused:
            if refused.code is None or ErrorCode(refused.code).retriable:
                return False
            raise
        self._committed |= wanted
        return True
