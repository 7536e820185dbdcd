"""What the authorizer is asked by requests about transactions, and by admin calls: cell by cell, in Kafka's order.

Kafka: KafkaApis, ControllerApis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Final

import pytest

from ottla.cluster.topic_names import GROUP_TOPIC, SHARE_GROUP_TOPIC
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from ottla.protocol.messages.create_acls import CreateAclsRequest
from ottla.protocol.messages.create_partitions import CreatePartitionsRequest
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.delete_acls import DeleteAclsRequest
from ottla.protocol.messages.delete_groups import DeleteGroupsRequest
from ottla.protocol.messages.delete_records import DeleteRecordsRequest
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from ottla.protocol.messages.describe_acls import DescribeAclsRequest
from ottla.protocol.messages.describe_cluster import DescribeClusterRequest
from ottla.protocol.messages.describe_configs import DescribeConfigsRequest
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from ottla.protocol.messages.describe_producers import DescribeProducersRequest
from ottla.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest
from ottla.protocol.messages.elect_leaders import ElectLeadersRequest
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.leave_group import LeaveGroupRequest
from ottla.protocol.messages.list_offsets import ListOffsetsRequest
from ottla.protocol.messages.list_transactions import ListTransactionsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.offset_delete import OffsetDeleteRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from ottla.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.messages.sync_group import SyncGroupRequest
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from ottla.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from ottla.protocol.primitives import Message
from ottla.security.authorizer import CLUSTER_NAME, AclOperation, AclResourceType
from tests.broker.scene import ANY_NAME, AllowsNothing, Scene
from tests.support.batches import batch
from tests.support.client import Client, api_of
from tests.support.error_codes import error_codes
from tests.support.running_broker import RunningBroker

Question = tuple[AclOperation, AclResourceType, str]

ID, GROUP, TOPIC = "tx", "g", "orders"
TRANSACTIONAL: Final = 0x10

WRITES_ID: Final = AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, ID
DESCRIBES_ID: Final = AclOperation.DESCRIBE, AclResourceType.TRANSACTIONAL_ID, ID
READS_GROUP: Final = AclOperation.READ, AclResourceType.GROUP, GROUP
DESCRIBES_GROUP: Final = AclOperation.DESCRIBE, AclResourceType.GROUP, GROUP
READS_TOPIC: Final = AclOperation.READ, AclResourceType.TOPIC, TOPIC
WRITES_TOPIC: Final = AclOperation.WRITE, AclResourceType.TOPIC, TOPIC
ALTERS_TOPIC: Final = AclOperation.ALTER, AclResourceType.TOPIC, TOPIC
WRITES_SOME_TOPIC: Final = AclOperation.WRITE, AclResourceType.TOPIC, ANY_NAME
ALTERS_CLUSTER: Final = AclOperation.ALTER, AclResourceType.CLUSTER, CLUSTER_NAME
ACTS_ON_CLUSTER: Final = AclOperation.CLUSTER_ACTION, AclResourceType.CLUSTER, CLUSTER_NAME
DESCRIBES_CLUSTER: Final = AclOperation.DESCRIBE, AclResourceType.CLUSTER, CLUSTER_NAME
WRITES_IDEMPOTENTLY: Final = AclOperation.IDEMPOTENT_WRITE, AclResourceType.CLUSTER, CLUSTER_NAME

DESCRIBES_TOPIC: Final = AclOperation.DESCRIBE, AclResourceType.TOPIC, TOPIC
CREATES_TOPIC: Final = AclOperation.CREATE, AclResourceType.TOPIC, TOPIC
DELETES_TOPIC: Final = AclOperation.DELETE, AclResourceType.TOPIC, TOPIC
DELETES_GROUP: Final = AclOperation.DELETE, AclResourceType.GROUP, GROUP
CREATES_CLUSTER: Final = AclOperation.CREATE, AclResourceType.CLUSTER, CLUSTER_NAME
DELETES_CLUSTER: Final = AclOperation.DELETE, AclResourceType.CLUSTER, CLUSTER_NAME
DESCRIBES_CONFIGS: Final = AclOperation.DESCRIBE_CONFIGS, AclResourceType.CLUSTER, CLUSTER_NAME
DESCRIBES_CONFIGS_OF_TOPIC: Final = AclOperation.DESCRIBE_CONFIGS, AclResourceType.TOPIC, TOPIC
DESCRIBES_CONFIGS_OF_GROUP: Final = AclOperation.DESCRIBE_CONFIGS, AclResourceType.GROUP, GROUP

UNAUTHORIZED: Final = {
    AclResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    AclResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    AclResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    AclResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
}


@dataclass(frozen=True)
class Row:
    """A request, and what is asked about it, in order. Where one Yes of several is enough, they stand together, and a
    No to all of them is the error of the first."""

    request: Message
    version: int
    asked: tuple[tuple[Question, ...], ...]
    error: ErrorCode | None = None
    """What a No to the last is, if not the error of its first question."""

    def __str__(self) -> str:
        return f"{api_of(self.request).name}-v{self.version}"


def added(*names: str) -> list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic]:
    return [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name, [0]) for name in names]


def offset_commit(name: str = TOPIC, topic_id: bytes = bytes(16)) -> TxnOffsetCommitRequest:
    partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(0, 7)
    topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name, topic_id, [partition])
    return TxnOffsetCommitRequest(ID, GROUP, 1, 0, topics=[topic])


def produce(attributes: int = TRANSACTIONAL, name: str = TOPIC, topic_id: bytes = bytes(16)) -> ProduceRequest:
    records = batch([(b"k", b"v")], attributes=attributes, producer_id=1, producer_epoch=0, base_sequence=0)
    partition = ProduceRequest.PartitionProduceData(0, records)
    return ProduceRequest(ID, -1, 1000, [ProduceRequest.TopicProduceData(name, topic_id, [partition])])


NOT_THE_TOPIC: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def own_commit() -> OffsetCommitRequest:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, 7)
    return OffsetCommitRequest(
        GROUP, topics=[OffsetCommitRequest.OffsetCommitRequestTopic(TOPIC, partitions=[partition])]
    )


def describe_configs(resource_type: int, name: str) -> DescribeConfigsRequest:
    return DescribeConfigsRequest([DescribeConfigsRequest.DescribeConfigsResource(resource_type, name, None)])


ASKED_OFFSETS: Final = OffsetFetchRequest.OffsetFetchRequestGroup(GROUP, topics=None)
DELETED_OFFSETS: Final = OffsetDeleteRequest.OffsetDeleteRequestTopic(
    TOPIC, [OffsetDeleteRequest.OffsetDeleteRequestPartition(0)]
)
FETCHED: Final = FetchRequest.FetchTopic(TOPIC, partitions=[FetchRequest.FetchPartition(0)])
LISTED: Final = ListOffsetsRequest.ListOffsetsTopic(TOPIC, [ListOffsetsRequest.ListOffsetsPartition(0, -1, -1)])
LED: Final = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(
    TOPIC, [OffsetForLeaderEpochRequest.OffsetForLeaderPartition(0, -1, 0)]
)
DELETED_RECORDS: Final = DeleteRecordsRequest.DeleteRecordsTopic(
    TOPIC, [DeleteRecordsRequest.DeleteRecordsPartition(0, 0)]
)
ACL_TYPE, ACL_PATTERN, ACL_OPERATION, ALLOW = 2, 3, 3, 3
NEW_RULE: Final = CreateAclsRequest.AclCreation(
    ACL_TYPE, TOPIC, ACL_PATTERN, "User:ana", "*", ACL_OPERATION, ALLOW
)  # fmt: skip
OLD_RULES: Final = DeleteAclsRequest.DeleteAclsFilter(ACL_TYPE, TOPIC, ACL_PATTERN, None, None, ACL_OPERATION, ALLOW)
_MARKER: Final = WriteTxnMarkersRequest.WritableTxnMarker(
    1, 0, True, [WriteTxnMarkersRequest.WritableTxnMarkerTopic(TOPIC, [0])]
)
_BATCHED: Final = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(ID, 1, 0, topics=added(TOPIC))

ROWS: Final = (
    Row(InitProducerIdRequest(ID, 1000), 5, ((WRITES_ID,),)),
    Row(InitProducerIdRequest(None, 1000), 5, ((WRITES_IDEMPOTENTLY, WRITES_SOME_TOPIC),)),
    Row(AddPartitionsToTxnRequest(None, ID, 1, 0, added(TOPIC)), 3, ((WRITES_ID,), (WRITES_TOPIC,))),
    Row(AddPartitionsToTxnRequest([_BATCHED]), 5, ((ACTS_ON_CLUSTER,),)),
    Row(AddOffsetsToTxnRequest(ID, 1, 0, GROUP), 4, ((WRITES_ID,), (READS_GROUP,))),
    Row(produce(), 12, ((WRITES_ID,), (WRITES_TOPIC,))),
    Row(produce(attributes=0), 12, ((WRITES_TOPIC,),)),
    Row(offset_commit(), 5, ((WRITES_ID,), (READS_GROUP,), (READS_TOPIC,))),
    Row(EndTxnRequest(ID, 1, 0, True), 5, ((WRITES_ID,),)),
    Row(WriteTxnMarkersRequest([_MARKER]), 2, ((ALTERS_CLUSTER, ACTS_ON_CLUSTER),)),
    Row(DescribeTransactionsRequest([ID]), 0, ((DESCRIBES_ID,),)),
    Row(DescribeProducersRequest([DescribeProducersRequest.TopicRequest(TOPIC, [0])]), 0, ((READS_TOPIC,),)),
    Row(FindCoordinatorRequest(ID, 1), 3, ((DESCRIBES_ID,),)),
    Row(FindCoordinatorRequest(key_type=1, coordinator_keys=[ID]), 6, ((DESCRIBES_ID,),)),
    Row(FindCoordinatorRequest(GROUP, 0), 3, ((DESCRIBES_GROUP,),)),
    Row(DescribeAclsRequest(ACL_TYPE, None, ACL_PATTERN, None, None, ACL_OPERATION, ALLOW), 3, ((DESCRIBES_CLUSTER,),)),
    Row(CreateAclsRequest([NEW_RULE]), 3, ((ALTERS_CLUSTER,),)),
    Row(DeleteAclsRequest([OLD_RULES]), 3, ((ALTERS_CLUSTER,),)),
    Row(DescribeLogDirsRequest(None), 4, ((DESCRIBES_CLUSTER,),)),
    Row(ElectLeadersRequest(0, [ElectLeadersRequest.TopicPartitions(TOPIC, [0])], 1000), 2, ((ALTERS_CLUSTER,),)),
    Row(JoinGroupRequest(GROUP, 10_000, 10_000, "", None, "consumer", []), 9, ((READS_GROUP,),)),
    Row(SyncGroupRequest(GROUP, 1, "ana", None, "consumer", "range"), 5, ((READS_GROUP,),)),
    Row(HeartbeatRequest(GROUP, 1, "ana"), 4, ((READS_GROUP,),)),
    Row(LeaveGroupRequest(GROUP, members=[LeaveGroupRequest.MemberIdentity("ana")]), 5, ((READS_GROUP,),)),
    Row(own_commit(), 9, ((READS_GROUP,), (READS_TOPIC,))),
    Row(OffsetFetchRequest(groups=[ASKED_OFFSETS]), 9, ((DESCRIBES_GROUP,),)),
    Row(OffsetDeleteRequest(GROUP, [DELETED_OFFSETS]), 0, ((DELETES_GROUP,),)),
    Row(DescribeGroupsRequest([GROUP]), 5, ((DESCRIBES_GROUP,),)),
    Row(DeleteGroupsRequest([GROUP]), 2, ((DELETES_GROUP,),)),
    Row(FetchRequest(topics=[FETCHED]), 12, ((READS_TOPIC,),)),
    Row(FetchRequest(replica_id=2, topics=[FETCHED]), 12, ((ACTS_ON_CLUSTER,),), NOT_THE_TOPIC),
    Row(ListOffsetsRequest(topics=[LISTED]), 7, ((DESCRIBES_TOPIC,),)),
    Row(
        OffsetForLeaderEpochRequest(topics=[LED]),
        4,
        ((ACTS_ON_CLUSTER, DESCRIBES_TOPIC),),
        NOT_THE_TOPIC,
    ),
    Row(MetadataRequest([MetadataRequest.MetadataRequestTopic(name=TOPIC)], False), 9, ((DESCRIBES_TOPIC,),)),
    Row(DescribeTopicPartitionsRequest([DescribeTopicPartitionsRequest.TopicRequest(TOPIC)]), 0, ((DESCRIBES_TOPIC,),)),
    Row(DeleteRecordsRequest([DELETED_RECORDS], 1000), 2, ((DELETES_TOPIC,),)),
    Row(
        CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(TOPIC, 1, 1)], 1000),
        7,
        ((CREATES_CLUSTER, CREATES_TOPIC),),
        NOT_THE_TOPIC,
    ),
    Row(
        DeleteTopicsRequest(topic_names=[TOPIC], timeout_ms=1000),
        5,
        ((DELETES_CLUSTER, DESCRIBES_TOPIC),),
        NOT_THE_TOPIC,
    ),
    Row(describe_configs(2, TOPIC), 4, ((DESCRIBES_CONFIGS_OF_TOPIC,),)),
    Row(describe_configs(4, "1"), 4, ((DESCRIBES_CONFIGS,),)),
    Row(describe_configs(32, GROUP), 4, ((DESCRIBES_CONFIGS_OF_GROUP,),)),
    Row(
        CreatePartitionsRequest([CreatePartitionsRequest.CreatePartitionsTopic(TOPIC, 2, None)], 1000),
        3,
        ((ALTERS_TOPIC,),),
    ),
)


#: Produce reads its batches before it knows whether they are of a transaction, and asks about topics on the way.
IN_ANOTHER_ORDER: Final = ProduceRequest


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_who_may_not_is_told_which_resource_is_not_theirs(row: Row) -> None:
    """Who may do all that is asked about before, but not this, is told so, and nothing is asked after it."""
    for place, alternatives in enumerate(row.asked):
        allowed = [before[0] for before in row.asked[:place]]
        answer, asked = told(row, allowed)
        is_last = place == len(row.asked) - 1
        assert answer == {(is_last and row.error) or UNAUTHORIZED[alternatives[0][1]]}
        if not isinstance(row.request, IN_ANOTHER_ORDER):
            assert asked == [*allowed, *alternatives]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_who_may_do_what_is_asked_about_gets_past_it(row: Row) -> None:
    """Any of several answers Yes that stand together is enough."""
    for allowed in product(*row.asked):
        authorizer = AllowsNothing(*allowed)
        with RunningBroker(authorizer=authorizer) as broker, Client(broker.bootstrap) as client:
            client.ask(CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(TOPIC, 1, 1)], 1000), 7)
            answer = client.ask(row.request, row.version)
        assert set(error_codes(answer)).isdisjoint(UNAUTHORIZED.values())
        assert set(allowed) <= set(authorizer.asked)


def told(row: Row, allowed: Iterable[Question]) -> tuple[set[int], list[Question]]:
    """The errors it is answered with, and what was asked, when this and nothing else is allowed."""
    scene = Scene()
    scene.create(TOPIC)
    scene.authorizer = authorizer = AllowsNothing(*allowed)
    answer = scene.ask(row.request, row.version)
    return set(error_codes(answer)) - {0}, authorizer.asked


def test_topics_of_the_brokers_are_not_for_transactions_of_clients() -> None:
    """Whoever asks, also where everybody may do everything; brokers add them to transactions all the time."""
    scene = Scene()
    scene.create(TOPIC)
    scene.ask(FindCoordinatorRequest(GROUP, 0), 3)
    answer = scene.ask(AddPartitionsToTxnRequest(None, ID, 1, 0, added(TOPIC, GROUP_TOPIC, SHARE_GROUP_TOPIC)), 3)
    assert {topic.name: list(error_codes(topic)) for topic in answer.results_by_topic_v3_and_below} == {
        TOPIC: [ErrorCode.OPERATION_NOT_ATTEMPTED],
        GROUP_TOPIC: [ErrorCode.TOPIC_AUTHORIZATION_FAILED],
        SHARE_GROUP_TOPIC: [ErrorCode.TOPIC_AUTHORIZATION_FAILED],
    }
    of_broker = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(ID, 1, 0, topics=added(GROUP_TOPIC, "missing"))
    (result,) = scene.ask(AddPartitionsToTxnRequest([of_broker]), 5).results_by_transaction
    assert {topic.name: list(error_codes(topic)) for topic in result.topic_results} == {
        GROUP_TOPIC: [ErrorCode.OPERATION_NOT_ATTEMPTED],
        "missing": [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
    }


@pytest.mark.parametrize(
    ("request_", "version", "allowed"),
    [
        (produce(name="", topic_id=b"?" * 16), 13, (WRITES_ID,)),
        (offset_commit(name="", topic_id=b"?" * 16), 6, (WRITES_ID, READS_GROUP)),
    ],
    ids=["Produce", "TxnOffsetCommit"],
)
def test_nobody_is_asked_about_a_topic_without_a_name(
    request_: Message, version: int, allowed: tuple[Question, ...]
) -> None:
    errors, asked = told(Row(request_, version, ()), allowed)
    assert errors == {ErrorCode.UNKNOWN_TOPIC_ID}
    assert asked == list(allowed)


@pytest.mark.parametrize(
    ("make", "version"), [(produce, 13), (offset_commit, 6)], ids=["Produce", "TxnOffsetCommit"]
)  # fmt: skip
def test_by_its_id_a_topic_is_guarded_as_by_its_name(make: Callable[..., Message], version: int) -> None:
    scene = Scene()
    topic_id = scene.create(TOPIC).topic_id
    scene.authorizer = AllowsNothing(WRITES_ID, READS_GROUP)
    errors = set(error_codes(scene.ask(make(name="", topic_id=topic_id), version)))
    assert errors - {0} == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}


@pytest.mark.parametrize("request_", [InitProducerIdRequest("", 0), InitProducerIdRequest(ID, 0, 5, -1)])
def test_who_may_not_have_a_producer_id_is_told_so_before_anything_is_looked_at(request_: Message) -> None:
    assert told(Row(request_, 5, ()), ())[0] == {ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED}


def test_of_transactions_clients_see_what_they_may_describe() -> None:
    """Ids that are another's are not listed, and of a transaction's topics those that are another's are left out."""
    writes_another = AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, "another"
    writes_payments = AclOperation.WRITE, AclResourceType.TOPIC, "payments"
    rights = (CREATES_CLUSTER, WRITES_ID, DESCRIBES_ID, WRITES_TOPIC, DESCRIBES_TOPIC, writes_another, writes_payments)
    with RunningBroker(authorizer=AllowsNothing(*rights)) as broker, Client(broker.bootstrap) as client:
        new = [CreateTopicsRequest.CreatableTopic(name, 1, 1) for name in (TOPIC, "payments")]
        client.ask(CreateTopicsRequest(new, 1000), 7)
        client.ask(FindCoordinatorRequest(ID, 1), 3)
        for name in (ID, "another"):
            given = client.ask(InitProducerIdRequest(name, 60_000), 4)
            who = name, given.producer_id, given.producer_epoch
            client.ask(AddPartitionsToTxnRequest(None, *who, added(TOPIC, "payments")), 3)
        listed = client.ask(ListTransactionsRequest(), 0).transaction_states
        described = client.ask(DescribeTransactionsRequest([ID, "another"]), 0).transaction_states
    assert [(state.transactional_id, state.transaction_state) for state in listed] == [(ID, "Ongoing")]
    assert [(state.error_code, [topic.topic for topic in state.topics]) for state in described] == [
        (0, [TOPIC]),
        (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, []),
    ]


def test_one_topic_of_several_may_be_grown() -> None:
    scene = Scene()
    for name in (TOPIC, "payments"):
        scene.create(name)
    scene.authorizer = AllowsNothing(ALTERS_TOPIC)
    wanted = [CreatePartitionsRequest.CreatePartitionsTopic(name, 2, None) for name in (TOPIC, "payments")]
    answer = scene.ask(CreatePartitionsRequest(wanted, 1000), 3)
    assert {topic.name: (topic.error_code, topic.error_message) for topic in answer.results} == {
        TOPIC: (0, None),
        "payments": (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None),
    }
    assert [len(scene.cluster.topics[name].partitions) for name in (TOPIC, "payments")] == [2, 1]


def test_without_a_right_to_look_the_cluster_shows_no_directory() -> None:
    """Before v3 there is no place for the error."""
    for version in range(1, 6):
        scene = Scene()
        scene.authorizer = AllowsNothing()
        assert scene.ask(DescribeLogDirsRequest(None), version).results == []


def test_who_asks_for_rights_on_the_cluster_is_asked_about_its_description_first() -> None:
    scene = Scene()
    scene.authorizer = authorizer = AllowsNothing()
    asked = DescribeClusterRequest(include_cluster_authorized_operations=True)
    assert scene.ask(asked, 2).cluster_authorized_operations == 0
    assert authorizer.asked == [DESCRIBES_CLUSTER]
