"""What can be aimed at, and what is said of a fault that makes no sense."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.broker.network.apis import SERVED
from ottla.broker.requests.subjects import shape_of
from ottla.control.faults.misuse import BadFault
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.leave_group import LeaveGroupRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.messages.sync_group import SyncGroupRequest
from ottla.protocol.primitives import Message
from ottla.protocol.registry import api
from tests.control.faults.scene import fault, fetch_request, find, heartbeat, hold, metadata_request
from tests.support.batches import batch
from tests.support.client import Client
from tests.support.running_broker import RunningBroker

#: By API: what its requests name.
WORDS = {
    "Produce": "producer_id transactional_id topic partition",
    "Fetch": "topic partition",
    "ListOffsets": "topic partition",
    "Metadata": "topic partition",
    "OffsetCommit": "group member instance topic partition role",
    "OffsetFetch": "group member topic partition role",
    "FindCoordinator": "group transactional_id",
    "JoinGroup": "group member instance role",
    "Heartbeat": "group member instance role",
    "LeaveGroup": "group member instance role",
    "SyncGroup": "group member instance role",
    "DescribeGroups": "group",
    "ListGroups": "",
    "ApiVersions": "",
    "CreateTopics": "topic",
    "DeleteTopics": "topic",
    "DeleteRecords": "topic partition",
    "InitProducerId": "transactional_id producer_id",
    "OffsetForLeaderEpoch": "topic partition",
    "DescribeConfigs": "",
    "AlterConfigs": "",
    "DescribeLogDirs": "topic partition",
    "CreatePartitions": "topic",
    "DeleteGroups": "group",
    "ElectLeaders": "topic partition",
    "IncrementalAlterConfigs": "",
    "OffsetDelete": "group topic partition",
    "DescribeCluster": "",
    "DescribeProducers": "topic partition",
    "DescribeTopicPartitions": "topic",
    "AlterReplicaLogDirs": "topic partition",
    "AlterPartitionReassignments": "topic partition",
    "ListPartitionReassignments": "topic partition",
    "DescribeClientQuotas": "",
    "DescribeUserScramCredentials": "",
    "DescribeQuorum": "topic partition",
    "UpdateFeatures": "",
    "ListConfigResources": "",
    "AddPartitionsToTxn": "transactional_id producer_id topic partition",
    "AddOffsetsToTxn": "transactional_id producer_id group",
    "EndTxn": "transactional_id producer_id",
    "WriteTxnMarkers": "producer_id topic partition",
    "DescribeTransactions": "transactional_id",
    "ListTransactions": "",
    "DescribeAcls": "",
    "CreateAcls": "",
    "DeleteAcls": "",
    "TxnOffsetCommit": "transactional_id group producer_id member instance topic partition role",
}


@pytest.mark.parametrize("name", [api(key).name for key in SERVED])
def test_every_api_has_the_words_that_its_requests_have(name: str) -> None:
    """Found by the names of Kafka's fields; this table is by hand. An API that comes to be served has to be added."""
    (request,) = (api(key).request for key in SERVED if api(key).name == name)
    assert set(shape_of(request).words) == set(WORDS[name].split())


JOINING = JoinGroupRequest("kitchen", 10_000, 10_000, "ana-1", "desk", "consumer", [])


@pytest.mark.parametrize(
    ("request_", "version", "hits", "misses"),
    [
        (heartbeat("kitchen", "ana-1"), 3, {"group": "kit*", "member": ["bo-*", "ana-?"]}, {"group": "cellar"}),
        (HeartbeatRequest("kitchen", 1, "ana-1", "desk"), 3, {"instance": "desk"}, {"instance": "door"}),
        (heartbeat("kitchen"), 0, {"version": "0-1"}, {"version": "1-4"}),
        (heartbeat("kitchen"), 2, {"version": 2}, {"version": 3}),
        (heartbeat("kitchen"), 0, {"client_id": "an*", "node": 1}, {"client_id": "bo"}),
        (heartbeat("kitchen"), 0, {"listener": "PLAIN*", "principal": "User:*"}, {"principal": "User:bo"}),
        (heartbeat("kitchen"), 0, {"node": [1, 2]}, {"node": 2}),
        (heartbeat("kitchen"), 0, {"when": lambda r: r.generation_id == 1}, {"when": lambda r: r.generation_id == 2}),
        (JOINING, 5, {"group": "kitchen", "instance": "d*"}, {"member": "bo-*"}),
        (LeaveGroupRequest("k", "", [LeaveGroupRequest.MemberIdentity("a-1")]), 3, {"member": "a-*"}, {"member": "b"}),
        (DescribeGroupsRequest(["cellar", "kitchen"]), 0, {"group": "kitchen"}, {"group": "attic"}),
        (FindCoordinatorRequest("kitchen", 0), 1, {"group": "kitchen"}, {"transactional_id": "kitchen"}),
        (FindCoordinatorRequest("", 1, ["tx"]), 4, {"transactional_id": "tx"}, {"group": "tx"}),
        (InitProducerIdRequest(None, 1_000), 0, {"version": 0}, {"transactional_id": "*"}),
        (fetch_request(("orders", 1)), 11, {"topic": "ord*", "partition": 1}, {"topic": "orders", "partition": 0}),
        (metadata_request("orders"), 5, {"topic": "orders"}, {"topic": "payments"}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Message) else None,
)
def test_aims(broker: RunningBroker, client: Client, request_: Message, version: int, hits: Any, misses: Any) -> None:
    """A request is hit by all that is true of it, and by nothing else."""
    name = type(request_).__name__.removesuffix("Request")
    hit = fault(broker, api=name, **hits, throttle=0)
    missed = fault(broker, api=name, **misses, throttle=0)
    client.ask(request_, version)
    assert (hit.hit_count, missed.hit_count) == (1, 0)
    assert missed.seen_instead().startswith(f"what came close: {name} v{version} of 'ana': ")


def test_groups_of_many_in_one_request_are_aimed_at(broker: RunningBroker, client: Client) -> None:
    """OffsetFetch v8 asks for several, each with its topics."""
    groups = [OffsetFetchRequest.OffsetFetchRequestGroup(name, topics=None) for name in ("cellar", "kitchen")]
    hit = fault(broker, api="OffsetFetch", group="kitchen", throttle=0)
    client.ask(OffsetFetchRequest(groups=groups), 8)
    assert hit.hit_count == 1


def test_producers_are_told_by_their_batches(broker: RunningBroker) -> None:
    leader_id = broker.look(lambda: broker.server.cluster.topics["orders"].placements[0].leader_id)
    hit, missed = (fault(broker, api="Produce", producer_id=one, throttle=0) for one in (4_000, 4_001))
    data = [ProduceRequest.PartitionProduceData(0, batch(producer_id=4_000, producer_epoch=0, base_sequence=0))]
    request = ProduceRequest(None, -1, 1_000, [ProduceRequest.TopicProduceData("orders", partition_data=data)])
    with Client(broker.server.bootstrap.split(",")[leader_id - 1]) as client:
        client.ask(request, 7)
    assert (hit.hit_count, missed.hit_count) == (1, 0)


def test_leader_of_a_group_is_told_from_the_others(broker: RunningBroker) -> None:
    """By who leads it, not by what it sends."""
    with Client(broker.bootstrap) as client:
        node_id = find(client, "led")
    with Client(broker.server.bootstrap.split(",")[node_id - 1]) as client:
        protocols = [JoinGroupRequest.JoinGroupRequestProtocol("range", b"")]
        joined = client.ask(JoinGroupRequest("led", 10_000, 10_000, "", None, "consumer", protocols), 3)
        of_leader, of_follower = (fault(broker, group="led", role=role, throttle=0) for role in ("leader", "follower"))
        assert client.ask(SyncGroupRequest("led", joined.generation_id, joined.member_id), 3).error_code == 0
        client.ask(SyncGroupRequest("led", joined.generation_id, "somebody"), 3)
    assert (of_leader.hit_count, of_follower.hit_count) == (1, 1)


def test_predicate_that_raises_is_told_and_disturbs_nobody(broker: RunningBroker, client: Client) -> None:
    broken = fault(broker, api="Heartbeat", when=lambda request: request.no_such_field, throttle=0)
    client.ask(heartbeat(), 0)
    assert broken.hit_count == 0
    assert "its function raised AttributeError" in broken.seen_instead()


# ── Misuse ────────────────────────────────────────────────────────────────────────────────────────────────────────────

MISUSES: list[tuple[dict[str, Any], str]] = [
    ({"api": "Prodcue", "drop_request": True}, "there is no API 'Prodcue'; did you mean Produce?"),
    (
        {"api": "CreateDelegationToken", "drop_request": True},
        "CreateDelegationToken is one of Kafka's APIs, but Ottla does not serve it",
    ),
    ({"api": 3, "drop_request": True}, "api is a name, or a list of names, not 3"),
    ({"answer": "NOT_ENUOGH_REPLICAS"}, "there is no error 'NOT_ENUOGH_REPLICAS'; did you mean NOT_ENOUGH_REPLICAS?"),
    (
        {"api": "Heartbeat", "topic": "o", "delay": 1},
        "Heartbeat has no topic to aim at; it has group, member, instance",
    ),
    ({"api": "ApiVersions", "group": "g", "delay": 1}, "ApiVersions has no group to aim at; aim at its client_id"),
    ({"api": "Produce", "topic": "o"}, "a fault says what happens, with one of answer, drop_request, drop_answer"),
    ({"drop_answr": True}, "there is no word 'drop_answr'; did you mean drop_answer?"),
    ({"grop": "g", "delay": 1}, "there is no word 'grop'; did you mean group?"),
    ({"delay": "soon"}, "delay takes ms as a whole number, not 'soon'"),
    ({"delay": -1}, "delay takes ms from 0 to "),
    ({"delay": {}}, "delay has to say its ms"),
    ({"delay": {"seconds": 1}}, "delay does not take 'seconds'; it takes ms"),
    ({"drop_answer": 3}, "drop_answer takes nothing but true, not 3"),
    ({"cut": {"reset": True}}, "cut says when: at one of request, answer, end, or after_bytes of the answer"),
    ({"cut": {"at": "once"}}, "there is no moment 'once'; there are request, answer, end"),
    ({"stale_leader": 9}, "there is no node 9 to name; the nodes are 1, 2"),
    ({"api": "Fetch", "stale_leader": True}, "stale_leader happens to Metadata, not to Fetch"),
    ({"turn_away": True, "client_id": "ana"}, "has no client_id to aim at; it has connection, listener, node"),
    ({"turn_away": True, "api": "Fetch"}, "this happens to a connection that is being made, which has no API"),
    ({"turn_away": True, "delay": 1}, "turn_away and delay don't happen to the same thing"),
    (
        {"fail_append": True, "client_id": "ana"},
        "an append to a log has no client_id to aim at; it has partition, topic",
    ),
    ({"change": "x"}, "change takes a function, which only a program in Python can give"),
    ({"when": "x", "delay": 1}, "when is a function, which only a program in Python can give"),
    ({"role": "boss", "delay": 1}, "there is no role 'boss'; there are leader, follower"),
    ({"version": "new", "delay": 1}, 'version is a whole number, or a range such as "3-5"'),
    ({"partition": "0", "delay": 1}, "partition is a whole number, or a list of them, not '0'"),
    ({"delay": 1, "once": True, "nth": 2}, "once and nth are both said"),
    ({"delay": 1, "times": 0}, "times is a whole number from 1 to "),
    ({"delay": 1, "probability": 2}, "probability is a number above 0 and up to 1, not 2"),
    ({"delay": 1, "seed": 2}, "seed is for what happens with a probability"),
    ({"delay": 1, "may_not_fire": 1}, "may_not_fire is true or false, not 1"),
    ({"pose_as": "0.8"}, "no Kafka '0.8' is known here"),
]


@pytest.mark.parametrize(("wish", "said"), MISUSES, ids=[said[:40] for _, said in MISUSES])
def test_what_makes_no_sense_is_refused(broker: RunningBroker, wish: dict[str, Any], said: str) -> None:
    """With a sentence that says what does; and nothing is set."""
    with pytest.raises(BadFault) as raised:
        fault(broker, **wish)
    assert said in str(raised.value)
    assert broker.controlled.faults.all == {}


def test_a_broker_of_one_node_has_no_other_to_name() -> None:
    with RunningBroker() as broker, pytest.raises(BadFault, match="there is only one node, and no other one to name"):
        fault(broker, stale_coordinator=True)


def test_a_hold_says_where_and_nothing_else(broker: RunningBroker) -> None:
    for wish, said in (
        ({"at": "noon"}, "there is no place to hold at 'noon'; there are request, answer"),
        ({"delay": 1}, "there is no word 'delay'"),
        ({"api": "Heartbeat", "topic": "o"}, "Heartbeat has no topic to aim at"),
    ):
        with pytest.raises(BadFault, match=said):
            hold(broker, **wish)


def test_apis_may_be_globs_and_lists(broker: RunningBroker, client: Client) -> None:
    several = fault(broker, api=["Offset*", "heartbeat"], throttle=0)
    assert several.aim.apis == {"OffsetCommit", "OffsetFetch", "OffsetDelete", "OffsetForLeaderEpoch", "Heartbeat"}
    client.ask(heartbeat(), 0)
    assert several.hit_count == 1
