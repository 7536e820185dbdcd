"""Every API of topics, configs and the cluster, in every version: served, and refused in the API's own form."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.broker.network.apis import SERVED
from ottla.cluster.log_dirs import MEMORY
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.alter_configs import AlterConfigsRequest
from ottla.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from ottla.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from ottla.protocol.messages.create_partitions import CreatePartitionsRequest
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from ottla.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from ottla.protocol.messages.describe_cluster import DescribeClusterRequest
from ottla.protocol.messages.describe_configs import DescribeConfigsRequest
from ottla.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from ottla.protocol.messages.describe_quorum import DescribeQuorumRequest
from ottla.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from ottla.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from ottla.protocol.messages.elect_leaders import ElectLeadersRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.list_config_resources import ListConfigResourcesRequest
from ottla.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.update_features import UpdateFeaturesRequest
from ottla.protocol.primitives import Message
from tests.broker.scene import Scene
from tests.support.client import API, api_of

#: API → a request, for one thing where the API takes lists, and where the answer has its error code; "": at the top.
REQUESTS: dict[str, tuple[Message, str]] = {
    "Metadata": (MetadataRequest([MetadataRequest.MetadataRequestTopic(name="a")]), "topics"),
    "FindCoordinator": (FindCoordinatorRequest("a", 0, ["a"]), "coordinators"),
    "CreateTopics": (CreateTopicsRequest([CreateTopicsRequest.CreatableTopic("b", 1, 1)], 1000), "topics"),
    "DeleteTopics": (
        DeleteTopicsRequest([DeleteTopicsRequest.DeleteTopicState("a")], ["a"], 1000),
        "responses",
    ),
    "InitProducerId": (InitProducerIdRequest(None), ""),
    "DescribeConfigs": (
        DescribeConfigsRequest([DescribeConfigsRequest.DescribeConfigsResource(2, "a")]),
        "results",
    ),
    "AlterConfigs": (AlterConfigsRequest([AlterConfigsRequest.AlterConfigsResource(2, "a")]), "responses"),
    "IncrementalAlterConfigs": (
        IncrementalAlterConfigsRequest([IncrementalAlterConfigsRequest.AlterConfigsResource(2, "a")]),
        "responses",
    ),
    "DescribeLogDirs": (DescribeLogDirsRequest(None), ""),
    "CreatePartitions": (
        CreatePartitionsRequest([CreatePartitionsRequest.CreatePartitionsTopic("a", 2, None)], 1000),
        "results",
    ),
    "DescribeCluster": (DescribeClusterRequest(), ""),
    "ElectLeaders": (ElectLeadersRequest(topic_partitions=[]), ""),
    "DescribeTopicPartitions": (
        DescribeTopicPartitionsRequest([DescribeTopicPartitionsRequest.TopicRequest("a")]),
        "topics",
    ),
    "ListConfigResources": (ListConfigResourcesRequest(), ""),
    "DescribeQuorum": (
        DescribeQuorumRequest(
            [DescribeQuorumRequest.TopicData("__cluster_metadata", [DescribeQuorumRequest.PartitionData(0)])]
        ),
        "",
    ),
    "AlterPartitionReassignments": (AlterPartitionReassignmentsRequest(1000), ""),
    "ListPartitionReassignments": (ListPartitionReassignmentsRequest(1000, None), ""),
    "AlterReplicaLogDirs": (
        AlterReplicaLogDirsRequest(
            [
                AlterReplicaLogDirsRequest.AlterReplicaLogDir(
                    MEMORY, [AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic("a", [0])]
                )
            ]
        ),
        "results",
    ),
    "UpdateFeatures": (
        UpdateFeaturesRequest(1000, [UpdateFeaturesRequest.FeatureUpdateKey("metadata.version", 33)]),
        "",
    ),
    "DescribeUserScramCredentials": (DescribeUserScramCredentialsRequest(None), ""),
    "DescribeClientQuotas": (DescribeClientQuotasRequest(), ""),
}

CASES = [
    pytest.param(name, version, id=f"{name} v{version}")
    for name in REQUESTS
    for version in range(SERVED[API[name].key].version_first, SERVED[API[name].key].version_last + 1)
]


def codes(answer: Any, items: str) -> list[int]:
    """The error codes of an answer: of its items, or its own."""
    found = []
    if items == "results" and getattr(answer, items) and hasattr(answer.results[0], "topic_name"):
        found = [partition.error_code for topic in answer.results for partition in topic.partitions]
    elif items:
        found = [item.error_code for item in getattr(answer, items)]
    return found or [answer.error_code]


@pytest.mark.parametrize(("name", "version"), CASES)
def test_request_is_served(name: str, version: int) -> None:
    """Without an error, where the topic `a` is there."""
    scene = Scene()
    scene.create("a")
    request, items = REQUESTS[name]
    assert api_of(request).name == name
    if name == "DescribeLogDirs" and version < 3:
        assert scene.ask(request, version).results[0].error_code == 0
    else:
        assert codes(scene.ask(request, version), items) == [0]


@pytest.mark.parametrize(("name", "version"), CASES)
def test_request_is_refused_in_the_form_of_its_api(name: str, version: int) -> None:
    """The code stands wherever the version has a place for it. DescribeLogDirs has none before v3, and no results,
    nor has ElectLeaders before v1.
    """
    scene = Scene()
    request, items = REQUESTS[name]
    answer = scene.refuse(request, version, ErrorCode.UNKNOWN_SERVER_ERROR)
    if name == "DescribeLogDirs" and version < 3:
        assert answer.results == []
    elif name == "ElectLeaders" and version < 1:
        assert answer.replica_election_results == []
    else:
        assert codes(answer, items) == [ErrorCode.UNKNOWN_SERVER_ERROR]
