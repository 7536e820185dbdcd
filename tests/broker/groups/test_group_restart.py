"""A broker that is stopped and started again on the same directory: its groups go on, and its logs stay cleaned."""

from __future__ import annotations

from pathlib import Path

from ottla.cluster.uuids import uuid_text
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.leave_group import LeaveGroupRequest
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from ottla.protocol.messages.sync_group import SyncGroupRequest
from ottla.testing import Broker
from tests.support.client import Client
from tests.support.inside import server_of

GROUP = "billing"
SESSION_MS = 10_000


def create(client: Client, name: str) -> None:
    answer = client.ask(CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(name, 1, 1)], 1000), 5)
    assert answer.topics[0].error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)


def find_coordinator(client: Client) -> None:
    create(client, "orders")
    assert client.ask(FindCoordinatorRequest(GROUP), 1).error_code == ErrorCode.NONE


def join(client: Client, member_id: str = "", instance: str | None = None) -> tuple[str, int]:
    """(member id, generation) of somebody who joins, alone, and brings an assignment."""
    protocols = [JoinGroupRequest.JoinGroupRequestProtocol("range", b"")]
    joined = client.ask(JoinGroupRequest(GROUP, SESSION_MS, 30_000, member_id, instance, "consumer", protocols), 5)
    if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        return join(client, joined.member_id)
    assert joined.error_code == ErrorCode.NONE
    assignments = [SyncGroupRequest.SyncGroupRequestAssignment(joined.member_id, b"orders-0")]
    sync = SyncGroupRequest(GROUP, joined.generation_id, joined.member_id, instance, assignments=assignments)
    assert client.ask(sync, 3).error_code == ErrorCode.NONE
    return joined.member_id, joined.generation_id


def beat(client: Client, member_id: str, generation_id: int) -> int:
    return client.ask(HeartbeatRequest(GROUP, generation_id, member_id), 3).error_code  # type: ignore[no-any-return]


def commit(client: Client, offset: int, member_id: str = "", generation_id: int = -1) -> None:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, offset, committed_metadata="." * 4000)
    topic = OffsetCommitRequest.OffsetCommitRequestTopic("orders", partitions=[partition])
    answer = client.ask(OffsetCommitRequest(GROUP, generation_id, member_id, topics=[topic]), 7)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE


def committed(client: Client) -> int:
    """What is committed; waits until the group is loaded."""
    topic = OffsetFetchRequest.OffsetFetchRequestTopic("orders", [0])
    while True:
        answer = client.ask(OffsetFetchRequest(GROUP, [topic]), 7)
        if answer.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            assert answer.error_code == ErrorCode.NONE
            return answer.topics[0].partitions[0].committed_offset  # type: ignore[no-any-return]


def test_members_go_on_in_their_generation(tmp_path: Path) -> None:
    """With the ids, the assignment and the offsets they had; a static member keeps its place."""
    with Broker(data_dir=tmp_path, clock="virtual") as broker, Client(broker.bootstrap_servers) as client:
        find_coordinator(client)
        member_id, generation_id = join(client)
        commit(client, 7, member_id, generation_id)
    with Broker(data_dir=tmp_path, clock="virtual") as broker, Client(broker.bootstrap_servers) as client:
        find_coordinator(client)
        assert committed(client) == 7
        assert beat(client, member_id, generation_id) == ErrorCode.NONE
        sync = client.ask(SyncGroupRequest(GROUP, generation_id, member_id), 3)
        assert sync.assignment == b"orders-0"
        commit(client, 8, member_id, generation_id)
        assert committed(client) == 8
        assert client.ask(LeaveGroupRequest(GROUP, member_id), 1).error_code == ErrorCode.NONE
        static_id, generation_id = join(client, instance="till-1")
    with Broker(data_dir=tmp_path, clock="virtual") as broker, Client(broker.bootstrap_servers) as client:
        find_coordinator(client)
        assert committed(client) == 8
        replaced_id, same_generation_id = join(client, instance="till-1")
        assert replaced_id != static_id
        assert same_generation_id == generation_id


def test_sessions_start_afresh(tmp_path: Path) -> None:
    """However long the broker was away; and whoever does not come back is gone a session later, asked for or not."""
    with Broker(data_dir=tmp_path, clock="virtual") as broker, Client(broker.bootstrap_servers) as client:
        find_coordinator(client)
        member_id, generation_id = join(client)
        broker.advance(SESSION_MS - 1)
    with Broker(data_dir=tmp_path, clock="virtual") as broker, Client(broker.bootstrap_servers) as client:
        find_coordinator(client)
        assert committed(client) == -1
        broker.advance(SESSION_MS - 1)
        assert beat(client, member_id, generation_id) == ErrorCode.NONE
    with Broker(data_dir=tmp_path, clock="virtual") as broker:
        broker.advance(SESSION_MS)
        with Client(broker.bootstrap_servers) as client:
            assert client.ask(DescribeGroupsRequest([GROUP]), 5).groups[0].group_state == "Empty"
            assert beat(client, member_id, generation_id) == ErrorCode.UNKNOWN_MEMBER_ID


def test_what_has_expired_does_not_come_back(tmp_path: Path) -> None:
    """Its tombstone is in the log."""
    settings = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "60000"}
    with (
        Broker(data_dir=tmp_path, clock="virtual", settings=settings) as broker,
        Client(broker.bootstrap_servers) as client,
    ):
        find_coordinator(client)
        commit(client, 7)
        broker.advance(120_000)
        assert committed(client) == -1
    with Broker(data_dir=tmp_path, clock="virtual") as broker, Client(broker.bootstrap_servers) as client:
        find_coordinator(client)
        assert committed(client) == -1
        described = client.ask(DescribeGroupsRequest([GROUP]), 6).groups[0]
        assert described.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_the_group_log_is_compacted_and_says_the_same(tmp_path: Path) -> None:
    """Hundreds of commits come to one record; how far the log was cleaned is known after a restart."""
    settings = {
        "offsets.topic.num.partitions": "1",
        "offsets.topic.segment.bytes": str(1024 * 1024),
        "log.cleaner.backoff.ms": "1000",
    }
    with (
        Broker(data_dir=tmp_path, clock="virtual", settings=settings) as broker,
        Client(broker.bootstrap_servers) as client,
    ):
        find_coordinator(client)
        log = server_of(broker).cluster.topics["__consumer_offsets"].partitions[0]
        offset = 0
        while len(log.segments) < 3:
            commit(client, offset)
            offset += 1
        broker.advance(1_000)
        assert sum(segment.size_bytes for segment in log.segments[:-1]) < 5_000
        cleaned_offset = log.cleaned_offset
        assert cleaned_offset == log.segments[-1].base_offset
        topic_id = uuid_text(log.topic_id)
    checkpoint = (tmp_path / "cleaner-offset-checkpoint").read_text()
    assert checkpoint == f"0\n1\n{topic_id} 0 {cleaned_offset}\n"
    with (
        Broker(data_dir=tmp_path, clock="virtual", settings=settings) as broker,
        Client(broker.bootstrap_servers) as client,
    ):
        find_coordinator(client)
        assert committed(client) == offset - 1
        log = server_of(broker).cluster.topics["__consumer_offsets"].partitions[0]
        assert log.cleaned_offset == cleaned_offset


def test_a_topic_made_anew_is_not_taken_for_cleaned(tmp_path: Path) -> None:
    """The checkpoint of the one before it goes with it."""
    with Broker(data_dir=tmp_path, clock="virtual") as broker, Client(broker.bootstrap_servers) as client:
        server = server_of(broker)
        for _ in range(2):
            create(client, "prices")
            log = server.cluster.topics["prices"].partitions[0]
            assert log.cleaned_offset == 0
            server.cluster.logs.note_cleaned(log, 5)
            server.cluster.delete_topic(server.cluster.topics["prices"])


def test_the_group_log_keeps_its_partitions(tmp_path: Path) -> None:
    """A setting that says another number is for a group log that is made anew: where a group is, it is looked for."""
    for count, offset in ((50, 5), (1, 6), (99, 7)):
        settings = {"offsets.topic.num.partitions": count}
        with Broker(data_dir=tmp_path, settings=settings) as broker, Client(broker.bootstrap_servers) as client:
            find_coordinator(client)
            if count != 50:
                assert committed(client) == offset - 1
            commit(client, offset)
            assert len(server_of(broker).cluster.topics["__consumer_offsets"].partitions) == 50
