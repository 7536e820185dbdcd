"""InitProducerId without a transactional id, DescribeProducers."""

from __future__ import annotations

from ottla.conformance.batches import batch
from ottla.conformance.partitions import fill, new_topic
from ottla.conformance.scene import Scene
from ottla.conformance.script import every, script
from ottla.conformance.transcript import PRODUCER_ID_OF_SCRIPTS
from ottla.protocol.messages.describe_producers import DescribeProducersRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest


@script(versions=every("InitProducerId"))
def init_producer_id(scene: Scene, version: int) -> None:
    """Each call gives another id with epoch 0; an id and epoch brought along are not looked at."""
    ana = scene.actor()
    first = ana.ask(InitProducerIdRequest(transaction_timeout_ms=1_000))
    ana.ask(InitProducerIdRequest(transaction_timeout_ms=1_000))
    ana.ask(InitProducerIdRequest(transaction_timeout_ms=-1))
    ana.ask(InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1_000))
    if version >= 3:
        ana.ask(
            InitProducerIdRequest(
                transaction_timeout_ms=1_000, producer_id=first.producer_id, producer_epoch=first.producer_epoch
            )
        )
        ana.ask(
            InitProducerIdRequest(transaction_timeout_ms=1_000, producer_id=PRODUCER_ID_OF_SCRIPTS, producer_epoch=3)
        )
        ana.ask(InitProducerIdRequest(transaction_timeout_ms=1_000, producer_id=-1, producer_epoch=3))
        ana.ask(InitProducerIdRequest(transaction_timeout_ms=1_000, producer_id=5, producer_epoch=-1))


@script(versions=every("DescribeProducers"))
def describe_producers(scene: Scene, version: int) -> None:
    """Who has written with a producer id, its epoch and last sequence; nobody; no such partition."""
    topic, empty = new_topic(scene), new_topic(scene, "empty")
    for sequence in range(3):
        fill(scene, topic, batch(producer_id=PRODUCER_ID_OF_SCRIPTS, producer_epoch=2, base_sequence=sequence))
    ana = scene.actor()
    for name, indexes in ((topic.name, [0, 1]), (empty.name, [0]), (scene.name("absent"), [0]), (topic.name, [])):
        ana.ask(
            DescribeProducersRequest(
                topics=[DescribeProducersRequest.TopicRequest(name=name, partition_indexes=indexes)]
            )
        )
    ana.ask(DescribeProducersRequest(topics=[]))
