"""What members of a group owe each other: each partition has one owner, and each message one reader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.clients.client_process import ClientProcess, Message, until

#: Longer than any test: nobody is expelled for silence.
LONG_MS: Final = 60_000


def share(topic: str, partitions: int, members: Sequence[ClientProcess]) -> None:
    """Wait until these members hold all partitions of a topic between them, each has one, and as many as the next."""

    def is_shared() -> bool:
        held = [len(member.holds) for member in members]
        everything = {(topic, index) for index in range(partitions)}
        return (
            sum(held) == partitions
            and set().union(*(member.holds for member in members)) == everything
            and max(held) - min(held) <= 1
        )

    until(is_shared, f"{[member.client_id for member in members]} share {partitions} partitions", *members)


def each_reads_its_own(topic: str, partitions: int, writer: ClientProcess, members: Sequence[ClientProcess]) -> None:
    """A message to each partition reaches the member who holds it, and nobody else."""
    before = [len(member.messages) for member in members]
    writer.send(topic, *(Message(b"to %d" % index, partition=index) for index in range(partitions)))

    def received() -> list[set[tuple[str, int]]]:
        return [
            {(topic, message.partition or 0) for message in member.messages[start:]}
            for member, start in zip(members, before, strict=True)
        ]

    until(lambda: received() == [member.holds for member in members], "each has read from its own", *members)
    assert sum(len(member.messages) - start for member, start in zip(members, before, strict=True)) == partitions
