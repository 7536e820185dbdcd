"""Where a story is played: the processes of one client, topics and groups of its own, and a look behind the scenes.

with Stage(role, broker, needs=SSL, log_path=path) as stage:
    ana = stage.start("ana")
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from compatibility.brokers import PLAINTEXT, CardBroker
from compatibility.clients import Installed
from ottla.protocol.messages.list_groups import ListGroupsRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from tests.clients.client_process import ClientProcess
from tests.support.backstage import Backstage
from tests.support.client import Client

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Role:
    """A version of a client, ready to be started for one story."""

    name: str
    installed: Installed
    #: As JSON.
    security: str
    patience_seconds: float

    def command(self, bootstrap: str, client_id: str) -> list[str]:
        return [*self.installed.command, bootstrap, client_id, self.security]

    def environment(self) -> dict[str, str]:
        patience = {"OTTLA_PATIENCE_SECONDS": str(self.patience_seconds)}
        return {**os.environ, **self.installed.variables, **patience}


class Stage:
    """For the length of one story. Its clients' processes are gone at the end."""

    def __init__(self, role: Role, broker: CardBroker, needs: str, log_path: Path) -> None:
        self._role = role
        self._bootstrap = broker.listeners.get(needs, broker.listeners[PLAINTEXT])
        self._plain: Final = broker.listeners[PLAINTEXT]
        self._log_path = log_path
        self._log: IO[str] = log_path.open("w")
        self._started: list[ClientProcess] = []

    @cached_property
    def _backstage(self) -> Backstage:
        return Backstage(self._plain)

    def start(self, client_id: str) -> ClientProcess:
        """A client in a process of its own."""
        client = ClientProcess(
            self._role, self._bootstrap, client_id, stderr=self._log, patience_seconds=self._role.patience_seconds
        )
        self._started.append(client)
        return client

    def name(self, stem: str) -> str:
        """A name that no other story has."""
        return f"{stem}-{os.getpid()}-{next(_numbers)}"

    def topic(self, partitions: int = 1) -> str:
        """A new topic."""
        topic = self.name("topic")
        self._backstage.create_topic(topic, partitions=partitions)
        return topic

    def end_offset(self, topic: str) -> int:
        """Where partition 0 ends."""
        return self._backstage.end_offset(topic)

    def member_ids(self, group: str) -> dict[str, str]:
        """The members of a group by their instance ids."""
        members = self._backstage.group(group).members
        return {member.group_instance_id: member.member_id for member in members}

    def committed(self, group: str, topic: str) -> int:
        """The offset that a group has committed in partition 0 of a topic; -1: none."""
        request = OffsetFetchRequest(group, [OffsetFetchRequest.OffsetFetchRequestTopic(topic, [0])])
        with Client(self._plain) as client:
            offset: int = client.ask(request, 5).topics[0].partitions[0].committed_offset
        return offset

    def kind_of_group(self, group: str) -> str:
        """Its protocol, as ListGroups has it: `classic`, `consumer`."""
        with Client(self._plain) as client:
            listed = client.ask(ListGroupsRequest(), 5).groups
        return next((str(found.group_type).lower() for found in listed if found.group_id == group), "none")

    @property
    def has_crashed(self) -> bool:
        """Whether a client has ended, which proves nothing about a broker."""
        return any(client.has_crashed for client in self._started)

    @property
    def last_words(self) -> str:
        """What a client said on stderr when it ended: its last line, or the one before the stack of a program in Go."""
        lines = [line.strip() for line in self._log_path.read_text(errors="replace").splitlines()]
        panics = [line for line in lines if line.startswith("panic: ")]
        return next((line for line in [*panics, *reversed(lines)] if line), "")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in self._started:
            client.end()
        if "_backstage" in vars(self):
            self._backstage.close()
        self._log.close()
