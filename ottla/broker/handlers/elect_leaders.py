"""ElectLeaders (api key 43), v0–v2: let the preferred leaders lead again, or anybody at all (KIP-460).

The preferred leader of a partition is the first of its replicas. When its node was away others lead, and go on leading
when it is back. Election type 0 gives it back its partitions; type 1, the unclean one, finds a leader for a partition
that has none, if need be a replica that was not in sync. A null list of topics asks for all partitions, and the answer
then leaves out those that need no election.

v1 adds the election type and an error_code on top, v2 is flexible. In v0 every election is of the preferred leader.

Errors, by partition: ELECTION_NOT_NEEDED, UNKNOWN_TOPIC_OR_PARTITION, PREFERRED_LEADER_NOT_AVAILABLE,
ELIGIBLE_LEADERS_NOT_AVAILABLE. On all of them, and on top: CLUSTER_AUTHORIZATION_FAILED, INVALID_REQUEST for another
election type, REQUEST_TIMED_OUT if timeout_ms is not positive. Kafka: ReplicationControlManager.electLeaders.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from ottla.broker.network.call import Call
from ottla.broker.node.broker_node import BrokerNode
from ottla.broker.security.access import allows_on_cluster
from ottla.cluster.election import Election
from ottla.cluster.partition_access import find_partition
from ottla.cluster.topic import NO_LEADER
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from ottla.security.authorizer import AclOperation

_Topic = ElectLeadersResponse.ReplicaElectionResult
_Partition = ElectLeadersResponse.PartitionResult

#: election_type → what is wanted, and the error if it can't be had.
_ELECTIONS: Final = {
    0: (Election.PREFERRED, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
    1: (Election.UNCLEAN, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE),
}


def handle(request: ElectLeadersRequest, call: Call) -> ElectLeadersResponse:
    if not allows_on_cluster(call, AclOperation.ALTER):
        return refuse(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    asked = request.topic_partitions
    if asked is not None and not asked:
        return ElectLeadersResponse()
    if request.timeout_ms <= 0:
        return refuse(request, ErrorCode.REQUEST_TIMED_OUT)
    if request.election_type not in _ELECTIONS:
        return refuse(request, ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}")
    node, election_type = call.node, request.election_type
    if asked is not None:
        results = [_elect_all(node, topic.topic, topic.partitions, election_type) for topic in paced(asked)]
    else:
        results = [
            _elect_all(node, topic.name, range(len(topic.partitions)), election_type)
            for topic in paced(list(node.cluster.topics.values()))
        ]
        for result in results:
            result.partition_result = [
                partition
                for partition in result.partition_result
                if partition.error_code != ErrorCode.ELECTION_NOT_NEEDED
            ]
    return ElectLeadersResponse(replica_election_results=results)


def refuse(request: ElectLeadersRequest, error_code: ErrorCode, message: str | None = None) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        error_code=error_code,
        replica_election_results=[
            _Topic(topic.topic, [_Partition(index, error_code, message) for index in topic.partitions])
            for topic in request.topic_partitions or ()
        ],
    )


def _elect_all(
    node: BrokerNode, name: str, indexes: Collection[int], election_type: int
) -> ElectLeadersResponse.ReplicaElectionResult:
    results = []
    for index in paced(indexes):
        error = _elect(node, name, index, election_type)
        results.append(_Partition(index, error, error.meaning if error else None))
    return _Topic(name, results)


def _elect(node: BrokerNode, name: str, index: int, election_type: int) -> ErrorCode:
    topic = node.cluster.topics.get(name)
    if topic is None or find_partition(topic, index) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    placement = topic.placements[index]
    election, unavailable = _ELECTIONS[election_type]
    is_well_led = placement.has_preferred_leader if election is Election.PREFERRED else placement.leader_id != NO_LEADER
    if is_well_led:
        return ErrorCode.ELECTION_NOT_NEEDED
    return ErrorCode.NONE if node.failover.elect(topic, index, election) else unavailable
