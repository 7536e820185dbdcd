"""A day under the virtual clock: members join, beat, leave and fall silent, offsets are committed and expire, fetches
wait and are forgotten, topics come and go. When all of it is over, nothing is left of it."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, dataclass
from random import Random
from typing import Any, Final

import pytest

from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.leave_group import LeaveGroupRequest
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.sync_group import SyncGroupRequest
from ottla.testing import Broker
from tests.soak.conftest import Drill
from tests.support.backstage import Backstage
from tests.support.client import Client

MINUTE_MS: Final = 60_000
MINUTES: Final = 60
#: After so long nothing of the work is left, be it by sessions, retention, or compaction.
REST_HOURS: Final = 6
SESSION_TIMEOUT_MS: Final = 3 * MINUTE_MS
SETTINGS: Final = {
    "offsets.retention.minutes": 60,
    "offsets.topic.num.partitions": 3,
    "producer.id.expiration.ms": 60 * MINUTE_MS,
}
ORDERS: Final = {
    "message.timestamp.type": "LogAppendTime",
    "retention.ms": str(60 * MINUTE_MS),
    "internal.segment.bytes": "2000",
}
GROUP_LOG: Final = {
    "internal.segment.bytes": "20000",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": str(60 * MINUTE_MS),
    "segment.ms": str(60 * MINUTE_MS),
}
#: Objects that Python itself keeps or not, as it likes. A leak of one object a minute is more in a day.
OBJECTS_SPARE: Final = 400
#: What the group log holds after its last compaction depends on where its segments ended.
LOG_BYTES_SPARE: Final = 40_000

pytestmark = pytest.mark.soak


@dataclass
class Held:
    """What the broker holds."""

    timers: int
    tasks: int
    waiting: int
    groups: int
    logs: int
    log_bytes: int
    objects: int


class Member:
    """One member of a group, with a connection of its own."""

    def __init__(self, bootstrap: str, group: str) -> None:
        self.client = Client(bootstrap)
        self.group = group
        self.member_id = ""
        self.generation_id = -1

    def join(self) -> None:
        """Be a member of a group that nobody else is in."""
        answer = self._join()
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            answer = self._join()
        assert answer.error_code == 0
        self.generation_id = answer.generation_id
        assignment = SyncGroupRequest.SyncGroupRequestAssignment(self.member_id, b"all")
        request = SyncGroupRequest(self.group, self.generation_id, self.member_id, assignments=[assignment])
        assert self.client.ask(request, 3).error_code == 0

    def _join(self) -> Any:
        protocol = JoinGroupRequest.JoinGroupRequestProtocol("range", b"\0\0\0\0\0\0\xff\xff\xff\xff")
        return self.client.ask(
            JoinGroupRequest(
                self.group, SESSION_TIMEOUT_MS, SESSION_TIMEOUT_MS, self.member_id, None, "consumer", [protocol]
            ),
            5,
        )

    def beat(self) -> None:
        assert self.client.ask(HeartbeatRequest(self.group, self.generation_id, self.member_id), 3).error_code == 0

    def commit(self, offset: int) -> None:
        partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, offset)
        topic = OffsetCommitRequest.OffsetCommitRequestTopic("orders", partitions=[partition])
        request = OffsetCommitRequest(self.group, self.generation_id, self.member_id, topics=[topic])
        assert self.client.ask(request, 7).topics[0].partitions[0].error_code == 0

    def leave(self) -> None:
        assert self.client.ask(LeaveGroupRequest(self.group, self.member_id), 2).error_code == 0


class Day:
    """What goes on at the broker, minute by minute."""

    def __init__(self, broker: Broker, random: Random) -> None:
        self._broker = broker
        self._bootstrap = broker.bootstrap_servers
        self._random = random
        self._minute = 0
        self._clients = ExitStack()

    def work(self, hours: int) -> None:
        """Go on for so long, and let go of everything."""
        with ExitStack() as self._clients, Backstage(self._bootstrap) as backstage:
            steady = self._member("steady")
            steady.join()
            for _ in range(hours * MINUTES):
                self._minute += 1
                steady.beat()
                steady.commit(self._minute)
                self._come_and_go()
                self._wait_for_records()
                backstage.produce("orders")
                self._make_and_delete(backstage)
                self._broker.advance(MINUTE_MS)

    def _member(self, group: str) -> Member:
        member = Member(self._bootstrap, group)
        self._clients.callback(member.client.close)
        return member

    def _come_and_go(self) -> None:
        """A new group, whose member leaves, falls silent, or has never been one."""
        member = self._member(f"group-{self._minute}")
        if self._random.random() < 0.8:
            member.join()
        member.commit(self._minute)
        if member.member_id and self._random.random() < 0.5:
            member.leave()
        if self._random.random() < 0.5:
            member.client.close()

    def _wait_for_records(self) -> None:
        """Ask for what is not there yet; some don't wait for the answer."""
        client = Client(self._bootstrap)
        self._clients.callback(client.close)
        wanted = FetchRequest.FetchPartition(0, fetch_offset=self._minute - 1, partition_max_bytes=1000)
        topic = FetchRequest.FetchTopic("orders", partitions=[wanted])
        wait_ms = self._random.choice((1, 10 * MINUTE_MS))
        client.send(FetchRequest(None, -1, None, wait_ms, self._random.choice((1, 1000)), 1000, topics=[topic]), 11)
        if self._random.random() < 0.5:
            client.close()

    def _make_and_delete(self, backstage: Backstage) -> None:
        topic = f"topic-{self._minute}"
        backstage.create_topic(topic)
        backstage.produce(topic)
        backstage.delete_topic(topic)


@contextmanager
def day(random: Random) -> Iterator[tuple[Broker, Day]]:
    with Broker(clock="virtual", settings=SETTINGS, log_level="error") as broker:
        with Backstage(broker.bootstrap_servers) as backstage:
            backstage.create_topic("orders", configs=ORDERS)
            backstage.wait_for_coordinator("any")
            backstage.change_topic(GROUP_TOPIC, GROUP_LOG)
        yield broker, Day(broker, random)


def held_after_a_rest(broker: Broker) -> Held:
    """When everything that has an end has come to it."""
    for _ in range(REST_HOURS * MINUTES):
        broker.advance(MINUTE_MS)
    with Backstage(broker.bootstrap_servers) as backstage:
        backstage.until(
            lambda: sum(broker._running.server.connection_counts.values()) == 1,
            "those who went without a word are missed",
        )
    assert broker._history is not None
    broker._history._recorder.clear()  # what is kept for the timeline is bounded by itself
    gc.collect()

    async def look() -> Held:
        server = broker._running.server
        cluster, operations = server.cluster, server.services.delayed_operations
        return Held(
            server.timer.size,
            len(asyncio.all_tasks()),
            operations.fetch.delayed + operations.produce.delayed,  # the completed ones linger until there are enough
            sum(len(coordinator.groups) for coordinator in server.services.group_coordination.of_node.values()),
            len(cluster.logs.partitions),
            sum(log.size_bytes for log in cluster.logs.partitions),
            len(gc.get_objects()),
        )

    return broker.call(look())


def test_nothing_is_left_of_a_day(drill: Drill) -> None:
    """After the work of many hours the broker holds what it held after that of the first."""
    hours = drill.rounds(short=2, long=24)
    with day(drill.random) as (broker, work):
        work.work(hours=1)
        first = held_after_a_rest(broker)
        work.work(hours)
        last = held_after_a_rest(broker)
        print(first, last, sep="\n")
        assert first.groups == 0
        assert astuple(last)[:-2] == astuple(first)[:-2]
        assert last.log_bytes <= first.log_bytes + LOG_BYTES_SPARE
        assert last.objects <= first.objects + OBJECTS_SPARE
