"""Who clients are, and that answers tell them what the authorizer allows."""

from __future__ import annotations

import pytest

from ottla.broker.security.authorized_operations import NOT_ASKED, SUPPORTED_OPERATIONS
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_cluster import DescribeClusterRequest
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.security.authorizer import ANONYMOUS, AclOperation, AclResourceType, Principal
from tests.control.faults.scene import create, produce
from tests.support.client import Client
from tests.support.running_broker import RunningBroker

#: What Kafka tells somebody who may do everything.
ALL = {
    AclResourceType.TOPIC: 3576,
    AclResourceType.GROUP: 3400,
    AclResourceType.CLUSTER: 8096,
    AclResourceType.TRANSACTIONAL_ID: 33040,
}
#: No answer tells what somebody may do to a transactional id.
TOLD = {AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.CLUSTER}


class Strict:
    """Allows what is listed, and keeps what it was asked."""

    def __init__(self, *allowed: tuple[AclOperation, str]) -> None:
        self.allowed = set(allowed)
        self.asked: list[tuple[Principal, str, AclResourceType]] = []

    def allows(
        self,
        principal: Principal,
        client_host: str,
        operation: AclOperation,
        resource_type: AclResourceType,
        resource_name: str,
    ) -> bool:
        self.asked.append((principal, client_host, resource_type))
        return (operation, resource_name) in self.allowed

    def allows_on_some(
        self, principal: Principal, client_host: str, operation: AclOperation, resource_type: AclResourceType
    ) -> bool:
        raise AssertionError("no answer that tells what somebody may do needs this")


def bits(*operations: AclOperation) -> int:
    return sum(1 << operation for operation in operations)


def test_anonymous_is_written_as_in_kafka() -> None:
    assert str(ANONYMOUS) == "User:ANONYMOUS"


@pytest.mark.parametrize("resource_type", AclResourceType)
def test_all_that_a_resource_knows_is_what_kafka_tells(resource_type: AclResourceType) -> None:
    assert bits(*SUPPORTED_OPERATIONS[resource_type]) == ALL[resource_type]


def told(client: Client) -> dict[str, list[int]]:
    """What a client hears about itself, by API."""
    topic = MetadataRequest.MetadataRequestTopic(name="orders")
    metadata = client.ask(
        MetadataRequest([topic], include_cluster_authorized_operations=True, include_topic_authorized_operations=True),
        8,
    )
    cluster = client.ask(DescribeClusterRequest(include_cluster_authorized_operations=True), 2)
    client.ask(FindCoordinatorRequest("g"), 1)  # makes the partitions of groups, so that there is a coordinator
    groups = client.ask(DescribeGroupsRequest(["g"], include_authorized_operations=True), 5)
    asked = DescribeTopicPartitionsRequest([DescribeTopicPartitionsRequest.TopicRequest("orders")])
    partitions = client.ask(asked, 0)
    return {
        "Metadata": [metadata.cluster_authorized_operations, metadata.topics[0].topic_authorized_operations],
        "DescribeCluster": [cluster.cluster_authorized_operations],
        "DescribeGroups": [groups.groups[0].authorized_operations],
        "DescribeTopicPartitions": [partitions.topics[0].topic_authorized_operations],
    }


def test_without_an_authorizer_everybody_may_do_everything() -> None:
    with RunningBroker() as broker, Client(broker.bootstrap) as client:
        assert told(client) == {
            "Metadata": [ALL[AclResourceType.CLUSTER], ALL[AclResourceType.TOPIC]],
            "DescribeCluster": [ALL[AclResourceType.CLUSTER]],
            "DescribeGroups": [ALL[AclResourceType.GROUP]],
            "DescribeTopicPartitions": [ALL[AclResourceType.TOPIC]],
        }


def test_authorizer_is_asked_for_each_operation_of_each_resource() -> None:
    """With who asks, and from where. Who may not describe the cluster may do nothing to it."""
    read, write, describe = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE
    create = AclOperation.CREATE
    of_topic = [(operation, "orders") for operation in (read, create, describe)]
    authorizer = Strict(*of_topic, (describe, "g"), (AclOperation.ALTER, "kafka-cluster"), (write, "other"))
    with RunningBroker(authorizer=authorizer) as broker, Client(broker.bootstrap) as client:
        assert told(client) == {
            "Metadata": [0, bits(read, create, describe)],
            "DescribeCluster": [0],
            "DescribeGroups": [bits(describe)],
            "DescribeTopicPartitions": [bits(read, create, describe)],
        }
        assert set(authorizer.asked) == {(ANONYMOUS, "/127.0.0.1", resource_type) for resource_type in TOLD}
        authorizer.allowed.add((describe, "kafka-cluster"))
        assert told(client)["DescribeCluster"] == [bits(AclOperation.ALTER, describe)]


def test_who_does_not_ask_is_told_nothing_and_nobody_is_asked() -> None:
    authorizer = Strict()
    with RunningBroker(authorizer=authorizer) as broker, Client(broker.bootstrap) as client:
        assert client.ask(MetadataRequest([]), 8).cluster_authorized_operations == NOT_ASKED
        assert client.ask(DescribeClusterRequest(), 2).cluster_authorized_operations == NOT_ASKED
    assert authorizer.asked == []


def test_who_may_not_write_a_topic_does_not() -> None:
    """However plain the request is."""
    authorizer = Strict((AclOperation.CREATE, "kafka-cluster"))
    with RunningBroker(authorizer=authorizer) as broker, Client(broker.bootstrap) as client:
        create(client, "orders")
        refused = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, -1)
        assert produce(client, ("orders", 0)) == {("orders", 0): refused}
        authorizer.allowed.add((AclOperation.WRITE, "orders"))
        assert produce(client, ("orders", 0)) == {("orders", 0): (ErrorCode.NONE, 0)}
