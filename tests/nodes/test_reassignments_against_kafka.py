"""What a Kafka 4.4.0 of four brokers answered while partitions were moved between them, and two of them were away.

Measured with a controller of its own, broker 3 to ask, and `auto.leader.rebalance.enable=false`; brokers were stopped
by SIGTERM, and asked when all had come to rest. Topics of one partition:

    one      replicas 1        min.insync.replicas=1
    three    replicas 1 2 3    min.insync.replicas=2
    two      replicas 1 2      min.insync.replicas=1

`move one 24` asks for replicas 2 and 4. A cell is: replicas, leader, leader epoch, ISR, eligible leader replicas, and
by ListPartitionReassignments those being added and those being removed.
"""

from __future__ import annotations

from typing import Final

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from ottla.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from tests.nodes.test_failover import FAILOVER_MS, Nodes

ASKED: Final = 3
TOPICS: Final = {"one": ([1], "1"), "three": ([1, 2, 3], "2"), "two": ([1, 2], "1")}

#: Step │ one │ three │ two
MEASURED: Final = """
begin          │ 1 1 0 1 - - -  │ 123 1 0 123 - - -      │ 12 1 0 12 - - -
move one 2     │ 2 2 1 2 - - -  │ 123 1 0 123 - - -      │ 12 1 0 12 - - -
move three 213 │ 2 2 1 2 - - -  │ 213 1 0 123 - - -      │ 12 1 0 12 - - -
move three 142 │ 2 2 1 2 - - -  │ 142 1 1 124 - - -      │ 12 1 0 12 - - -
move two 2     │ 2 2 1 2 - - -  │ 142 1 1 124 - - -      │ 2 2 1 2 - - -
move two 123   │ 2 2 1 2 - - -  │ 142 1 1 124 - - -      │ 123 2 1 123 - - -
stop 4         │ 2 2 1 2 - - -  │ 142 1 1 12 - - -       │ 123 2 1 123 - - -
move one 4     │ 42 2 1 2 - 4 2 │ 142 1 1 12 - - -       │ 123 2 1 123 - - -
cancel one     │ 2 2 2 2 - - -  │ 142 1 1 12 - - -       │ 123 2 1 123 - - -
cancel one     │ 2 2 2 2 - - -  │ 142 1 1 12 - - -       │ 123 2 1 123 - - - │ NO_REASSIGNMENT_IN_PROGRESS
move one 4     │ 42 2 2 2 - 4 2 │ 142 1 1 12 - - -       │ 123 2 1 123 - - -
move one 3     │ 3 3 3 3 - - -  │ 142 1 1 12 - - -       │ 123 2 1 123 - - -
move three 12  │ 3 3 3 3 - - -  │ 12 1 2 12 - - -        │ 123 2 1 123 - - -
move three 34  │ 3 3 3 3 - - -  │ 3412 1 2 123 - 34 12   │ 123 2 1 123 - - -
move two 43    │ 3 3 3 3 - - -  │ 3412 1 2 123 - 34 12   │ 4312 2 1 123 - 4 12
cancel two     │ 3 3 3 3 - - -  │ 3412 1 2 123 - 34 12   │ 312 2 2 123 - - -
move two 43    │ 3 3 3 3 - - -  │ 3412 1 2 123 - 34 12   │ 4312 2 2 123 - 4 12
start 4        │ 3 3 3 3 - - -  │ 34 3 3 34 - - -        │ 43 4 3 34 - - -
move three 1234 │ 3 3 3 3 - - -  │ 1234 3 3 1234 - - -    │ 43 4 3 34 - - -
stop 2         │ 3 3 3 3 - - -  │ 1234 3 3 134 - - -     │ 43 4 3 34 - - -
move three 13  │ 3 3 3 3 - - -  │ 13 3 4 13 - - -        │ 43 4 3 34 - - -
move two 24    │ 3 3 3 3 - - -  │ 13 3 4 13 - - -        │ 243 4 3 34 - 2 3
move one 2     │ 23 3 3 3 - 2 3 │ 13 3 4 13 - - -        │ 243 4 3 34 - 2 3
move two 3     │ 23 3 3 3 - 2 3 │ 13 3 4 13 - - -        │ 324 4 3 34 - 2 24
start 2        │ 2 2 4 2 - - -  │ 13 3 4 13 - - -        │ 324 4 3 234 - 2 24
cancel two     │ 2 2 4 2 - - -  │ 13 3 4 13 - - -        │ 34 4 4 34 - - -
move one 12    │ 12 2 4 12 - - - │ 13 3 4 13 - - -        │ 34 4 4 34 - - -
move two 14    │ 12 2 4 12 - - - │ 13 3 4 13 - - -        │ 14 4 5 14 - - -
"""


def test_replicas_leaders_and_epochs_are_those_of_kafka() -> None:
    """After each step, for each topic. A step that Kafka refused is marked with the error."""
    scene = Nodes(nodes=4)
    for name, (replicas, min_isr) in TOPICS.items():
        assigned = CreateTopicsRequest.CreatableReplicaAssignment(0, replicas)
        config = CreateTopicsRequest.CreatableTopicConfig("min.insync.replicas", min_isr)
        wanted = CreateTopicsRequest.CreatableTopic(name, -1, -1, [assigned], [config])
        assert scene.ask(CreateTopicsRequest([wanted], 1000), 7, node_id=ASKED).topics[0].error_code == 0
    lines = MEASURED.strip().splitlines()
    assert len(lines) == 28
    for line in lines:
        step, *cells = (cell.strip() for cell in line.split("│"))
        error = take(scene, *step.split())
        scene.advance(FAILOVER_MS)
        assert [*shown(scene), *([error.name] if error else [])] == cells, step


def take(scene: Nodes, what: str, whom: str = "", replicas: str = "") -> ErrorCode:
    """One step; the error it is refused with."""
    match what:
        case "stop":
            scene.stop(int(whom))
        case "start":
            scene.start(int(whom))
        case "move" | "cancel":
            asked = AlterPartitionReassignmentsRequest
            target = [int(digit) for digit in replicas] if what == "move" else None
            topic = asked.ReassignableTopic(whom, [asked.ReassignablePartition(0, target)])
            answer = scene.ask(asked(1000, True, [topic]), 1, node_id=ASKED)
            return ErrorCode(answer.responses[0].partitions[0].error_code)
    return ErrorCode.NONE


def shown(scene: Nodes) -> list[str]:
    request = DescribeTopicPartitionsRequest([DescribeTopicPartitionsRequest.TopicRequest(name) for name in TOPICS])
    listed = scene.ask(ListPartitionReassignmentsRequest(1000, None), 0, node_id=ASKED).topics
    moves = {topic.name: topic.partitions[0] for topic in listed}
    return [
        f"{_digits(partition.replica_nodes)} {partition.leader_id} {partition.leader_epoch}"
        f" {_digits(partition.isr_nodes)} {_digits(partition.eligible_leader_replicas)}"
        f" {_digits(moves[topic.name].adding_replicas if topic.name in moves else [])}"
        f" {_digits(moves[topic.name].removing_replicas if topic.name in moves else [])}"
        for topic in scene.ask(request, 0, node_id=ASKED).topics
        for partition in topic.partitions
    ]


def _digits(node_ids: list[int]) -> str:
    return "".join(map(str, node_ids)) or "-"
