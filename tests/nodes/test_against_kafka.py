"""What a Kafka 4.3.1 of four brokers answered to DescribeTopicPartitions while three of them came and went.

Measured with a controller of its own and broker 4 to ask; brokers were stopped by SIGTERM ("stop") and SIGKILL
("kill"), and asked when ISRs had come to rest. Topics of one partition:

    one      replicas 1        min.insync.replicas=1
    three    replicas 1 2 3    min.insync.replicas=2
    two      replicas 1 2      min.insync.replicas=1

A cell is: leader, leader epoch, ISR, eligible leader replicas, last known ones, offline replicas.
"""

from __future__ import annotations

from typing import Final

from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from tests.nodes.test_failover import FAILOVER_MS, Nodes

TOPICS: Final = {"one": ([1], "1"), "three": ([1, 2, 3], "2"), "two": ([1, 2], "1")}

#: Step │ one │ three │ two
MEASURED: Final = """
begin   │  1 0 1 - - -  │  1 0 123 - - -     │  1 0 12 - - -
stop 3  │  1 0 1 - - -  │  1 0 12 - - 3      │  1 0 12 - - -
stop 1  │ -1 1 - 1 1 1  │  2 1 2 1 - 13      │  2 1 2 - - 1
stop 2  │ -1 1 - 1 1 1  │ -1 2 - 12 2 123    │ -1 2 - 2 2 12
start 3 │ -1 1 - 1 1 1  │ -1 2 - 12 2 12     │ -1 2 - 2 2 12
start 1 │  1 2 1 - - -  │  1 3 13 - - 2      │ -1 2 - 2 2 2
start 2 │  1 2 1 - - -  │  1 3 123 - - -     │  2 3 12 - - -
kill 1  │ -1 3 - 1 1 1  │  2 4 23 - - 1      │  2 3 2 - - 1
start 1 │  1 4 1 - - -  │  2 4 123 - - -     │  2 3 12 - - -
kill 2  │  1 4 1 - - -  │  1 5 13 - - 2      │  1 4 1 - - 2
kill 1  │ -1 5 - 1 1 1  │  3 6 3 1 - 12      │ -1 5 - 1 1 12
start 2 │ -1 5 - 1 1 1  │  3 6 23 - - 1      │ -1 5 - 1 1 1
start 1 │  1 6 1 - - -  │  3 6 123 - - -     │  1 6 12 - - -
"""


def test_leaders_epochs_and_replicas_are_those_of_kafka() -> None:
    """After each step, for each topic."""
    scene = Nodes(nodes=4)
    for name, (replicas, min_isr) in TOPICS.items():
        assigned = CreateTopicsRequest.CreatableReplicaAssignment(0, replicas)
        config = CreateTopicsRequest.CreatableTopicConfig("min.insync.replicas", min_isr)
        wanted = CreateTopicsRequest.CreatableTopic(name, -1, -1, [assigned], [config])
        assert scene.ask(CreateTopicsRequest([wanted], 1000), 7, node_id=4).topics[0].error_code == 0
    lines = MEASURED.strip().splitlines()
    assert len(lines) == 13
    for line in lines:
        step, *cells = (cell.strip() for cell in line.split("│"))
        happened, _, node_id = step.partition(" ")
        if happened != "begin":
            getattr(scene, happened)(int(node_id))
        scene.advance(FAILOVER_MS)
        assert shown(scene) == cells, step


def shown(scene: Nodes) -> list[str]:
    request = DescribeTopicPartitionsRequest([DescribeTopicPartitionsRequest.TopicRequest(name) for name in TOPICS])
    return [
        f"{partition.leader_id} {partition.leader_epoch} {_digits(partition.isr_nodes)}"
        f" {_digits(partition.eligible_leader_replicas)} {_digits(partition.last_known_elr)}"
        f" {_digits(partition.offline_replicas)}"
        for topic in scene.ask(request, 0, node_id=4).topics
        for partition in topic.partitions
    ]


def _digits(node_ids: list[int]) -> str:
    return "".join(map(str, node_ids)) or "-"
