"""The APIs this broker serves. ApiVersions answers from this table, and the routes are made from it.

Every version that Kafka 4.4 has of them is served; where the advertised range is wider than the served one, the reason
stands beside it. The table is small on purpose: it is read at start, and importing a handler is not.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from ottla.broker.network.limits import BRIEF_PRODUCE_BYTES_MAX, BRIEF_REQUEST_BYTES_MAX
from ottla.protocol.registry import api


class Lane(Enum):
    """What a connection may do about the requests behind one of this API.

    Kafka takes up a connection's next request when the last one is answered, so nothing here may show a different order
    of effects. The exception is what one group's task does one after the other anyway.
    """

    #: Answered before the handler returns.
    AT_ONCE = 1
    #: Answered by the group's task in the order of its inbox, without any other wait: requests of the same group
    #: may follow each other into the inbox before the first is answered.
    GROUP = 2
    #: May be parked. What comes behind it waits.
    MAY_WAIT = 3


class Served:
    """One API: the versions advertised, the first one really served, and its lane.

    `repeats`: clients mostly send the same bytes again, or such as begin the same, and get the very same answer.
    Neither of them may be changed: a request that comes again is not decoded anew, nor is an answer that is given again
    encoded.

    `brief_bytes_max`: up to this size a request is not long work, so it is done without a fiber (`pacing`); unless the
    handler's `is_long` knows better, if it has one.
    """

    __slots__ = ("brief_bytes_max", "key", "lane", "repeats", "version_first", "version_first_served", "version_last")

    def __init__(
        self,
        key: int,
        lane: Lane = Lane.AT_ONCE,
        advertise_from: int | None = None,
        *,
        repeats: bool = False,
        brief_bytes_max: int = 0,
    ) -> None:
        codec = api(key)
        self.key = key
        self.lane = lane
        self.repeats = repeats
        self.brief_bytes_max = brief_bytes_max
        self.version_first_served = codec.version_first
        self.version_first = codec.version_first if advertise_from is None else advertise_from
        self.version_last = codec.version_last


SERVED: Final = {
    served.key: served
    for served in (
        # librdkafka takes a broker that does not list Produce v0 for one too old to talk to. Kafka lists it too, and
        # closes the connection of a client that sends v0–v2.
        Served(0, Lane.MAY_WAIT, advertise_from=0, brief_bytes_max=BRIEF_PRODUCE_BYTES_MAX),  # Produce
        Served(1, Lane.MAY_WAIT, brief_bytes_max=BRIEF_REQUEST_BYTES_MAX),  # Fetch
        Served(2),  # ListOffsets
        Served(3),  # Metadata
        Served(8, Lane.GROUP, repeats=True, brief_bytes_max=BRIEF_REQUEST_BYTES_MAX),  # OffsetCommit
        Served(9, Lane.MAY_WAIT),  # OffsetFetch
        Served(10, brief_bytes_max=BRIEF_REQUEST_BYTES_MAX),  # FindCoordinator
        Served(11, Lane.MAY_WAIT, brief_bytes_max=BRIEF_REQUEST_BYTES_MAX),  # JoinGroup
        Served(12, Lane.GROUP, repeats=True, brief_bytes_max=BRIEF_REQUEST_BYTES_MAX),  # Heartbeat
        Served(13, Lane.MAY_WAIT, brief_bytes_max=BRIEF_REQUEST_BYTES_MAX),  # LeaveGroup
        Served(14, Lane.MAY_WAIT, brief_bytes_max=BRIEF_REQUEST_BYTES_MAX),  # SyncGroup
        Served(15, Lane.MAY_WAIT),  # DescribeGroups
        Served(16),  # ListGroups
        Served(18, repeats=True, brief_bytes_max=BRIEF_REQUEST_BYTES_MAX),  # ApiVersions
        Served(19),  # CreateTopics
        Served(20),  # DeleteTopics
        Served(21),  # DeleteRecords
        Served(22, Lane.MAY_WAIT, brief_bytes_max=BRIEF_REQUEST_BYTES_MAX),  # InitProducerId
        Served(23),  # OffsetForLeaderEpoch
        Served(24, Lane.MAY_WAIT, brief_bytes_max=BRIEF_REQUEST_BYTES_MAX),  # AddPartitionsToTxn
        Served(25, Lane.MAY_WAIT, brief_bytes_max=BRIEF_REQUEST_BYTES_MAX),  # AddOffsetsToTxn
        Served(26, Lane.MAY_WAIT, brief_bytes_max=BRIEF_REQUEST_BYTES_MAX),  # EndTxn
        Served(27),  # WriteTxnMarkers
        Served(28, Lane.MAY_WAIT, brief_bytes_max=BRIEF_REQUEST_BYTES_MAX),  # TxnOffsetCommit
        Served(29),  # DescribeAcls
        Served(30),  # CreateAcls
        Served(31),  # DeleteAcls
        Served(32),  # DescribeConfigs
        Served(33),  # AlterConfigs
        Served(34),  # AlterReplicaLogDirs
        Served(35),  # DescribeLogDirs
        Served(37),  # CreatePartitions
        Served(42, Lane.MAY_WAIT),  # DeleteGroups
        Served(43),  # ElectLeaders
        Served(44),  # IncrementalAlterConfigs
        Served(45),  # AlterPartitionReassignments
        Served(46),  # ListPartitionReassignments
        Served(47, Lane.MAY_WAIT),  # OffsetDelete
        Served(48),  # DescribeClientQuotas
        Served(50),  # DescribeUserScramCredentials
        Served(55),  # DescribeQuorum
        Served(57),  # UpdateFeatures
        Served(60),  # DescribeCluster
        Served(61),  # DescribeProducers
        Served(65, Lane.MAY_WAIT),  # DescribeTransactions
        Served(66),  # ListTransactions
        Served(74),  # ListConfigResources
        Served(75),  # DescribeTopicPartitions
    )
}
