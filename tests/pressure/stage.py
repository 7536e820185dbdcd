"""What the tests under pressure share."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from pathlib import Path
from typing import Any, Final

from ottla.conformance.wire import Connection, ConnectionClosedError
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.purgatory import Purgatory
from tests.cli.terminal import Serving
from tests.support.client import Client
from tests.support.running_broker import RunningBroker

SESSION_MS: Final = 60_000


def create_topic(client: Client, name: str, partitions: int = 1) -> bytes:
    """Make a topic; returns its id."""
    created = client.ask(CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(name, partitions, 1)], 1000), 7)
    assert created.topics[0].error_code == 0
    topic_id: bytes = created.topics[0].topic_id
    return topic_id


def join_request(group_id: str, member_id: str = "", *, metadata: bytes = b"") -> JoinGroupRequest:
    protocols = [JoinGroupRequest.JoinGroupRequestProtocol("range", metadata)]
    return JoinGroupRequest(group_id, SESSION_MS, SESSION_MS, member_id, protocol_type="consumer", protocols=protocols)


def join(client: Client, group_id: str) -> str:
    """Be the first member of a group; returns the member id."""
    assert client.ask(FindCoordinatorRequest(group_id, 0), 2).error_code == 0
    joined = client.ask(join_request(group_id), 3)
    assert joined.error_code == 0, joined
    member_id: str = joined.member_id
    return member_id


def is_served(client: Client) -> bool:
    """Whether the broker has an answer for this client."""
    return bool(client.ask(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE)


def ends(connection: Connection) -> bool:
    """Whether the broker closes this connection without an answer."""
    try:
        connection.receive_frame()
    except ConnectionClosedError:
        return True
    return False


def hear_the_end(connection: Connection) -> None:
    """Read whatever answers there are until the broker closes its side."""
    while not ends(connection):
        pass


def counters(broker: Serving, path: str = "/counters") -> Any:
    """What the control API of a broker says."""
    with urllib.request.urlopen(f"http://{broker.control}{path}") as answer:
        return json.load(answer)


def memory_mib(pid: int) -> int:
    """The memory that a process has at this moment."""
    return _status_mib(pid, "VmRSS")


def memory_mib_max(pid: int) -> int:
    """The most it ever had."""
    return _status_mib(pid, "VmHWM")


def _status_mib(pid: int, name: str) -> int:
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) // 1024


def leftovers(broker: RunningBroker) -> dict[str, int]:
    """What a broker has that comes and goes: if this is as it was, nothing has leaked."""

    def count() -> dict[str, int]:
        operations = broker.server.services.delayed_operations
        purgatories: list[Purgatory[Any]] = [
            *broker.coordinator.runtime.purgatories.values(), operations.fetch, operations.produce
        ]  # fmt: skip
        return {
            "connections": len(broker.connections),
            "tasks": len(asyncio.all_tasks()),
            "groups": len(broker.coordinator.groups),
            "timers": broker.server.timer.size,
            "delayed": sum(purgatory.delayed for purgatory in purgatories),
            "watched": sum(purgatory.watched - purgatory.lingering for purgatory in purgatories),
        }

    return broker.look(count)
