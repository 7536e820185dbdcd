"""Transactions at the limits of what can be said: the longest ids, the last epochs."""

from __future__ import annotations

from itertools import pairwise

from ottla.conformance.partitions import new_topic
from ottla.conformance.producer import Producer, shown
from ottla.conformance.scene import Scene
from ottla.conformance.script import every, script
from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest

#: The longest string that Kafka reads, and the last epoch that a client is given.
LENGTH_MAX = 2**15 - 1
EPOCH_LAST = 2**15 - 2

_AT_ONCE = 512


@script(versions=(0, 2, 5))
def an_id_of_32_kb(scene: Scene, version: int) -> None:
    """It is as good as any other."""
    topic, group = new_topic(scene), scene.name("group", length=LENGTH_MAX)
    ana = Producer(scene, scene.name("tx", length=LENGTH_MAX))
    ana.learn(ana.actor.ask(ana.init()))
    ana.actor.ask(ana.add((topic.name, 0)), min(version, 3))
    ana.actor.ask(ana.send(topic, b"1"), 12)
    ana.actor.ask(DescribeTransactionsRequest([ana.transactional_id]), 0)
    ana.actor.ask(ana.commit_offsets(group, topic, 1), 5)
    ana.actor.ask(ana.end(commit=True), 5)
    shown(scene, ana, topic)


@script(versions=every("AddPartitionsToTxn"))
def an_id_that_is_empty(scene: Scene, version: int) -> None:
    """No request that needs one takes it."""
    topic, who = new_topic(scene), (scene.producer_id("stranger"), 0)
    nobody = Producer(scene, "")
    nobody.actor.ask(nobody.add((topic.name, 0), who=who))
    if version >= 4:
        nobody.actor.ask(nobody.add((topic.name, 0), who=who, verify=True))
    nobody.actor.ask(nobody.add_offsets(scene.name("group"), who=who), min(version, 4))
    nobody.actor.ask(nobody.commit_offsets(scene.name("group"), topic, 1, who=who), version)
    nobody.actor.ask(nobody.end(commit=True, who=who), version)


def near_the_last_epoch(scene: Scene) -> Producer:
    """Two epochs before the last, unrecorded: by beginning as often as that takes, many times at once."""
    ana = Producer(scene)
    counts = [*range(0, EPOCH_LAST - 1, _AT_ONCE), EPOCH_LAST - 1]
    for first, end in pairwise(counts):
        for _ in range(first, end):
            ana.actor.client.send(ana.init(), 1)
        for _ in range(first, end):
            ana.learn(ana.actor.client.receive().message)
    assert ana.producer_epoch == EPOCH_LAST - 2, ana.producer_epoch
    return ana


@script()
def transactions_in_the_last_epochs(scene: Scene, version: int) -> None:
    """Each ends in the next epoch; after the last comes another producer id. Each is ended again, the other way, and
    begun again by who has not heard the answer."""
    topic = new_topic(scene)
    ana = near_the_last_epoch(scene)
    ana.learn(ana.actor.ask(ana.init(), 4))
    for commit in (True, False, True):
        who = ana.producer_id, ana.producer_epoch
        ana.actor.ask(ana.send(topic, b"1", sequence=0), 12)
        ana.learn(ana.actor.ask(ana.end(commit=commit, who=who), 5))
        ana.settles()
        ana.actor.ask(ana.end(commit=commit, who=who), 5)
        ana.actor.ask(ana.end(commit=not commit, who=who), 5)
        ana.actor.ask(ana.init(who=who), 4)
        shown(scene, ana, topic)
