"""The table of what each API asks the authorizer: it has every API; what is denied is answered with the rest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ottla.broker.handlers import produce
from ottla.broker.network.apis import SERVED
from ottla.broker.network.call import Call
from ottla.broker.security.guards import GUARDS, Items, Open, Own, Whole
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.delete_groups import DeleteGroupsRequest
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.list_groups import ListGroupsRequest
from ottla.protocol.messages.list_offsets import ListOffsetsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from ottla.protocol.messages.produce import ProduceRequest, ProduceResponse
from ottla.protocol.registry import api
from ottla.security.authorizer import AclOperation, AclResourceType, Principal
from tests.broker.scene import AllowsNothing
from tests.cli.stage import create, find_coordinator
from tests.support.batches import batch
from tests.support.client import Client
from tests.support.running_broker import RunningBroker

OP, TYPE = AclOperation, AclResourceType


def test_every_api_that_is_served_has_its_row() -> None:
    """And no other: a new API is refused to nobody by mistake."""
    assert set(GUARDS) == {api(key).name for key in SERVED}


@pytest.mark.parametrize("name", GUARDS)
def test_a_row_makes_sense(name: str) -> None:
    """Fields are the request's, items come last of what the table asks, and a row that asks nothing stands alone."""
    guards = GUARDS[name]
    request = next(api(key) for key in SERVED if api(key).name == name).request
    for place, guard in enumerate(guards):
        match guard:
            case Whole(rights):
                assert all(not right.field or right.field in request.__slots__ for right in rights)
            case Items(field):
                assert field in request.__slots__
                assert place == len(guards) - 1
            case Own(reason):
                assert reason
            case Open():
                assert len(guards) == 1


class Rights:
    """An authorizer that allows all until it is told what alone it allows."""

    def __init__(self) -> None:
        self.only: set[tuple[AclOperation, AclResourceType, str]] | None = None

    def allows(
        self,
        _principal: Principal,
        _client_host: str,
        operation: AclOperation,
        resource_type: AclResourceType,
        resource_name: str,
    ) -> bool:
        return self.only is None or (operation, resource_type, resource_name) in self.only

    def allows_on_some(
        self, _principal: Principal, _client_host: str, _operation: AclOperation, _resource_type: AclResourceType
    ) -> bool:
        return self.only is None


@contextmanager
def asked_with(*allowed: tuple[AclOperation, AclResourceType, str]) -> Iterator[Client]:
    """A client of a broker with topics `mine` and `theirs`, and a group of each name that has committed for its topic;
    then this and nothing else is allowed.
    """
    rights = Rights()
    with RunningBroker(authorizer=rights) as broker, Client(broker.bootstrap) as client:
        for name in ("mine", "theirs"):
            create(client, name, 1)
            find_coordinator(client, name)
            assert client.ask(commit(name, name), 8).topics[0].partitions[0].error_code == ErrorCode.NONE
        broker.look(lambda: setattr(rights, "only", set(allowed)))
        yield client


def commit(group_id: str, *topics: str) -> OffsetCommitRequest:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, 1)
    listed = [OffsetCommitRequest.OffsetCommitRequestTopic(name, partitions=[partition]) for name in topics]
    return OffsetCommitRequest(group_id, topics=listed)


def test_groups_that_are_denied_are_described_first_and_deleted_last() -> None:
    """The others are asked for as ever, and answered by their tasks."""
    denied = ErrorCode.GROUP_AUTHORIZATION_FAILED
    with asked_with((OP.DESCRIBE, TYPE.GROUP, "mine"), (OP.DELETE, TYPE.GROUP, "mine")) as client:
        described = client.ask(DescribeGroupsRequest(["mine", "theirs"]), 5).groups
        deleted = client.ask(DeleteGroupsRequest(["theirs", "mine"]), 2).results
    assert [(group.group_id, group.error_code, group.group_state) for group in described] == [
        ("theirs", denied, ""),
        ("mine", ErrorCode.NONE, "Empty"),
    ]
    assert [(result.group_id, result.error_code) for result in deleted] == [("mine", 0), ("theirs", denied)]


def test_topics_that_are_denied_come_behind_the_others() -> None:
    asked = [ListOffsetsRequest.ListOffsetsPartition(0, -1, -1)]
    topics = [ListOffsetsRequest.ListOffsetsTopic(name, asked) for name in ("theirs", "mine")]
    with asked_with((OP.DESCRIBE, TYPE.TOPIC, "mine")) as client:
        answered = client.ask(ListOffsetsRequest(topics=topics), 7).topics
    assert [(topic.name, topic.partitions[0].error_code, topic.partitions[0].offset) for topic in answered] == [
        ("mine", ErrorCode.NONE, 0),
        ("theirs", ErrorCode.TOPIC_AUTHORIZATION_FAILED, -1),
    ]


def test_what_a_client_may_not_describe_is_hidden_from_lists() -> None:
    """Topics of Metadata and OffsetFetch, and groups, where all are asked for."""
    groups = [OffsetFetchRequest.OffsetFetchRequestGroup(name, topics=None) for name in ("mine", "theirs")]
    of_groups = [(OP.DESCRIBE, TYPE.GROUP, name) for name in ("mine", "theirs")]
    with asked_with((OP.DESCRIBE, TYPE.TOPIC, "mine"), *of_groups) as client:
        assert [topic.name for topic in client.ask(MetadataRequest(None), 9).topics] == ["mine"]
        fetched = client.ask(OffsetFetchRequest(groups=groups), 9).groups
    assert [(group.error_code, [topic.name for topic in group.topics]) for group in fetched] == [(0, ["mine"]), (0, [])]
    with asked_with(of_groups[0]) as client:
        assert [group.group_id for group in client.ask(ListGroupsRequest(), 4).groups] == ["mine"]
    with asked_with((OP.DESCRIBE, TYPE.CLUSTER, "kafka-cluster")) as client:
        assert {group.group_id for group in client.ask(ListGroupsRequest(), 4).groups} == {"mine", "theirs"}


def test_a_commit_of_several_topics_is_taken_for_those_that_may_be_read() -> None:
    """If nothing is left, the group is not looked at: it may be told of a member that it does not have."""
    of_nobody = commit("mine", "theirs")
    of_nobody.member_id, of_nobody.generation_id_or_member_epoch = "nobody", 3
    with asked_with((OP.READ, TYPE.GROUP, "mine"), (OP.READ, TYPE.TOPIC, "mine")) as client:
        answered = client.ask(commit("mine", "theirs", "mine"), 8).topics
        (topic,) = client.ask(of_nobody, 8).topics
    errors = {one.name: one.partitions[0].error_code for one in answered}
    assert errors == {"theirs": ErrorCode.TOPIC_AUTHORIZATION_FAILED, "mine": ErrorCode.NONE}
    assert topic.partitions[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_named_offsets_that_are_denied_come_behind_the_others() -> None:
    topics = [OffsetFetchRequest.OffsetFetchRequestTopics(name, partition_indexes=[0]) for name in ("theirs", "mine")]
    request = OffsetFetchRequest(groups=[OffsetFetchRequest.OffsetFetchRequestGroup("mine", topics=topics)])
    with asked_with((OP.DESCRIBE, TYPE.GROUP, "mine"), (OP.DESCRIBE, TYPE.TOPIC, "mine")) as client:
        (group,) = client.ask(request, 8).groups
    assert [(one.name, one.partitions[0].error_code, one.partitions[0].committed_offset) for one in group.topics] == [
        ("mine", ErrorCode.NONE, 1),
        ("theirs", ErrorCode.TOPIC_AUTHORIZATION_FAILED, -1),
    ]


def test_over_sockets_the_route_asks_for_every_request() -> None:
    """Also for heartbeats in one write, and for batches that would go the short way. A right that is taken away counts
    from the next request on.
    """
    authorizer = AllowsNothing(
        (OP.CREATE, TYPE.CLUSTER, "kafka-cluster"),
        (OP.DESCRIBE, TYPE.TOPIC, "orders"),
        (OP.WRITE, TYPE.TOPIC, "orders"),
    )
    with RunningBroker(authorizer=authorizer) as broker, Client(broker.bootstrap) as client:
        assert client.ask(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE
        client.ask(MetadataRequest([MetadataRequest.MetadataRequestTopic(name="orders")]), 9)
        for _ in range(2):
            beat = client.ask(HeartbeatRequest("g", 1, "ana"), 3)
            assert beat.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
        data = ProduceRequest.TopicProduceData(
            "orders", partition_data=[ProduceRequest.PartitionProduceData(0, batch([(None, b"v")]))]
        )
        produce, version = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data]), 9

        def error() -> int:
            return int(client.ask(produce, version).responses[0].partition_responses[0].error_code)

        assert [error(), error()] == [ErrorCode.NONE, ErrorCode.NONE]
        broker.look(lambda: authorizer.forbid(OP.WRITE, TYPE.TOPIC, "orders"))
        assert error() == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        fetched = FetchRequest(topics=[FetchRequest.FetchTopic("orders", partitions=[FetchRequest.FetchPartition(0)])])
        (topic,) = client.ask(fetched, 12).responses
        assert topic.partitions[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_an_authorizer_that_allows_leaves_batches_their_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The handler is not called then. A No goes the long way, where it is refused."""
    rights, handled = Rights(), list[object]()
    data = ProduceRequest.TopicProduceData(
        "orders", partition_data=[ProduceRequest.PartitionProduceData(0, batch([(None, b"v")]))]
    )
    produce_request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data])
    handle = produce.handle

    def note(request: ProduceRequest, call: Call) -> ProduceResponse | None:
        handled.append(request)
        return handle(request, call)

    monkeypatch.setattr(produce, "handle", note)
    with RunningBroker(authorizer=rights) as broker, Client(broker.bootstrap) as client:
        create(client, "orders", 1)
        (topic,) = client.ask(produce_request, 9).responses
        assert (topic.partition_responses[0].error_code, handled) == (ErrorCode.NONE, [])
        broker.look(lambda: setattr(rights, "only", set()))
        (topic,) = client.ask(produce_request, 9).responses
        assert topic.partition_responses[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert len(handled) == 1
