"""A compacted topic, written all along: what compaction may take, and what it must leave.

    ledger = Ledger(start, CONFLUENT, "accounts")
    ledger.begin()
    while …:
        …something happens to the broker…
        ledger.goes_on()
    ledger.check()      # the last acknowledged entry of each account is there, and nothing that was never written

An entry is an account's number as key and the entry's own number as value.
"""

from __future__ import annotations

from random import Random
from typing import Final

from tests.clients.client_process import ClientProcess, Message
from tests.clients.conftest import Start
from tests.clients.libraries import Library

ENTRIES_PER_ORDER: Final = 1000
ACCOUNTS: Final = 2000


class Ledger:
    """A topic of one partition, and who writes to it."""

    def __init__(self, start: Start, library: Library, name: str, random: Random) -> None:
        self.name = name
        self._writer: ClientProcess = start(library, f"{name}-writer")
        self._reader: ClientProcess = start(library, f"{name}-reader")
        self._random = random
        self._under_way: list[tuple[bytes, bytes]] = []
        #: By offset, what was acknowledged there.
        self._stored: dict[int, tuple[bytes, bytes]] = {}
        self._next = 0

    def begin(self) -> None:
        self._write()

    def goes_on(self) -> None:
        """Return when the entries are acknowledged and the next ones under way."""
        self._take_answer()
        self._write()

    def check(self) -> None:
        """Read it from its beginning, while nobody writes any more."""
        self._take_answer()
        latest = {key: offset for offset, (key, _) in sorted(self._stored.items())}
        end = max(self._stored)
        self._reader.assign((self.name, 0))
        self._reader.until(lambda: any(message.offset == end for message in list(self._reader.messages)), "all is read")
        read = {message.offset or 0: (message.key, message.value) for message in self._reader.messages}
        assert [message.offset for message in self._reader.messages] == sorted(read), "not in order, or twice"
        assert read.items() <= self._stored.items()
        assert {offset: read.get(offset) for offset in latest.values()} == {
            offset: self._stored[offset] for offset in latest.values()
        }
        assert len(read) < len(self._stored), "nothing was compacted"

    def _write(self) -> None:
        self._under_way = []
        for _ in range(ENTRIES_PER_ORDER):
            self._under_way.append((b"%d" % self._random.randrange(ACCOUNTS), b"%d" % self._next))
            self._next += 1
        messages = [Message(value, key=key, partition=0).json() for key, value in self._under_way]
        self._writer.tell("produce", topic=self.name, messages=messages, idempotent=True)

    def _take_answer(self) -> None:
        for entry, (_, offset) in zip(self._under_way, self._writer.answer("produce"), strict=True):
            assert offset not in self._stored
            self._stored[offset] = entry
        self._under_way = []
