"""Fetch: positions, sizes, waiting, epochs, sessions."""

from __future__ import annotations

from typing import Any

from ottla.conformance.batches import batch
from ottla.conformance.partitions import Topic, absent_topic, fetch, fill, new_topic, produce
from ottla.conformance.scene import Scene
from ottla.conformance.script import every, script
from ottla.protocol.messages.fetch import FetchRequest

ONE, THREE = batch(), batch(((b"a", b"1"), (b"b", b"2"), (b"c", b"3")))
#: Sizes below are chosen around these two.
ONE_BYTES, THREE_BYTES = len(ONE), len(THREE)


def _both(first: FetchRequest, second: FetchRequest) -> FetchRequest:
    first.topics += second.topics
    return first


@script(versions=every("Fetch"))
def fetch_from_every_position(scene: Scene, version: int) -> None:
    """At a batch, inside one, at the end, beyond it, before the start: whole batches, nothing, or out of range."""
    topic = new_topic(scene)
    fill(scene, topic, ONE, THREE, ONE)
    ana = scene.actor()
    for offset in (0, 1, 2, 4, 5, 6, -1):
        ana.ask(fetch(topic, offset))
    ana.ask(fetch(topic, 0, isolation_level=1))
    ana.ask(fetch(topic, 5, isolation_level=1))


@script(versions=every("Fetch"))
def fetch_unknown_partitions(scene: Scene, version: int) -> None:
    """Unknown topics and partitions beside a good one; none at all; one twice."""
    topic = new_topic(scene)
    fill(scene, topic, ONE)
    ana = scene.actor()
    ana.ask(fetch(absent_topic(scene), 0))
    ana.ask(fetch(topic, 0, 0))
    ana.ask(_both(fetch(absent_topic(scene), 0), fetch(topic, 0)))
    ana.ask(fetch(topic))
    ana.ask(fetch(topic, topics=[]))
    ana.ask(_both(fetch(topic, 0), fetch(topic, 1)))
    ana.ask(fetch(absent_topic(scene), 0, isolation_level=1))


@script(versions=every("Fetch"))
def fetch_with_an_isolation_level_that_is_not(scene: Scene, version: int) -> None:
    """An error for all that is listed, a topic without a name included; by ids only the error on top."""
    topic = new_topic(scene)
    ana = scene.actor()
    ana.ask(_both(fetch(topic, 0, isolation_level=2), fetch(Topic(""), 0)))


@script(versions=every("Fetch")[12:])
def fetch_as_a_follower_with_an_old_epoch(scene: Scene, version: int) -> None:
    """Who is no replica is told who leads, and not where that node is reached, as consumers are."""
    topic = new_topic(scene)
    ana = scene.actor()
    replica = FetchRequest.ReplicaState(replica_id=7)
    ana.ask(fetch(topic, 0, replica_state=replica))


@script(versions=every("Fetch"))
def fetch_within_sizes(scene: Scene, version: int) -> None:
    """The first batch comes whole however small the limits are; after it they count."""
    topic = new_topic(scene, partitions=2)
    fill(scene, topic, ONE, THREE, ONE)
    fill(scene, topic, THREE, ONE, partition=1)
    ana = scene.actor()
    for limits in (
        {"max_bytes": 1},
        {"max_bytes": 0},
        {"max_bytes": -1},
        {"partition_max_bytes": 1},
        {"partition_max_bytes": 0},
        {"partition_max_bytes": ONE_BYTES},
        {"partition_max_bytes": ONE_BYTES + THREE_BYTES},
        {"partition_max_bytes": 2 * ONE_BYTES + THREE_BYTES},
        {"max_bytes": ONE_BYTES + THREE_BYTES},
        {"max_bytes": 2 * ONE_BYTES + THREE_BYTES},
        {"max_bytes": 2 * (ONE_BYTES + THREE_BYTES)},
        {"min_bytes": 1 << 20, "max_bytes": ONE_BYTES},
    ):
        ana.ask(fetch(topic, 0, 0, **limits))
    ana.ask(fetch(topic, 5, 0, max_bytes=1))
    for limits in ({"max_bytes": 1}, {"max_bytes": ONE_BYTES + THREE_BYTES + ONE_BYTES + 1}):
        ana.ask(fetch(topic, 0, 0, isolation_level=1, **limits))


@script(versions=every("Fetch"))
def fetch_and_wait(scene: Scene, version: int) -> None:
    """At the end of the log a fetch waits until something comes, until its time is over, or not at all."""
    topic = new_topic(scene)
    ana, writer = scene.actor("ana"), scene.actor("writer")
    ana.ask(fetch(topic, 0, max_wait_ms=1))
    ana.ask(fetch(topic, 0, max_wait_ms=5_000, min_bytes=0))
    ana.ask(fetch(topic, 7, max_wait_ms=5_000))
    ana.send(fetch(topic, 0, max_wait_ms=30_000))
    ana.hear_nothing()
    writer.quietly(produce(topic, ONE), 9)
    ana.hear()
    ana.send(fetch(topic, 0, max_wait_ms=30_000, min_bytes=ONE_BYTES + 1))
    ana.hear_nothing()
    writer.quietly(produce(topic, ONE), 9)
    ana.hear()
    ana.send(fetch(topic, 0, max_wait_ms=600, min_bytes=1_000))
    ana.hear_nothing()
    ana.hear()


@script(versions=every("Fetch"))
def fetch_and_wait_beside_an_unknown_topic(scene: Scene, version: int) -> None:
    """An unknown topic does not cut the wait of a known one short."""
    topic = new_topic(scene)
    ana = scene.actor()
    ana.send(_both(fetch(absent_topic(scene), 0, max_wait_ms=600), fetch(topic, 0)))
    ana.hear_nothing()
    ana.hear()
    ana.ask(fetch(absent_topic(scene), 0, max_wait_ms=30_000))


@script(versions=every("Fetch"))
def fetch_waits_until_the_topic_is_deleted(scene: Scene, version: int) -> None:
    """The topic goes away under a waiting fetch: it is answered at once."""
    topic = new_topic(scene)
    ana = scene.actor()
    ana.send(fetch(topic, 0, max_wait_ms=30_000))
    ana.hear_nothing()
    scene.delete_topic(topic.name)
    ana.hear()


@script(versions=every("Fetch")[5:])
def fetch_with_an_epoch(scene: Scene, version: int) -> None:
    """From v9 on the client says which leader epoch it knows."""
    topic = new_topic(scene)
    fill(scene, topic, ONE)
    ana = scene.actor()
    for epoch in (0, 1, 5, -1, -2):
        ana.ask(fetch(topic, 0, current_leader_epoch=epoch, max_wait_ms=100))


@script(versions=every("Fetch")[8:])
def fetch_with_the_last_epoch_fetched(scene: Scene, version: int) -> None:
    """From v12 on a fetcher may say the epoch of its last batch, to learn where logs part."""
    topic = new_topic(scene)
    fill(scene, topic, ONE, THREE)
    ana = scene.actor()
    for epoch, offset in ((0, 1), (0, 4), (5, 1), (1, 4)):
        ana.ask(fetch(topic, offset, last_fetched_epoch=epoch))
        ana.ask(fetch(topic, offset, last_fetched_epoch=epoch, isolation_level=1))


class Session:
    """The client's side of a fetch session."""

    def __init__(self, scene: Scene) -> None:
        self.actor = scene.actor()
        self.session_id = 0
        self.epoch = 0

    def ask(self, request: FetchRequest, **changes: Any) -> None:
        request.session_id, request.session_epoch = self.session_id, self.epoch
        for name, value in changes.items():
            setattr(request, name, value)
        answer = self.actor.ask(request)
        if answer.error_code == 0:
            self.session_id = answer.session_id
            self.epoch += 1


@script(versions=every("Fetch")[3:])
def fetch_in_a_session(scene: Scene, version: int) -> None:
    """Only what is new comes back; partitions are added, moved on, forgotten."""
    topic, other = new_topic(scene, partitions=2), new_topic(scene, "other")
    fill(scene, topic, ONE)
    session = Session(scene)
    session.ask(fetch(topic, 0, 0))
    session.ask(fetch(topic, 1))
    session.ask(fetch(topic, topics=[]))
    fill(scene, topic, THREE, partition=1)
    session.ask(fetch(topic, topics=[]))
    session.ask(fetch(other, 0))
    session.ask(fetch(topic, topics=[]))
    session.ask(fetch(topic, 1, 3))
    session.ask(fetch(topic, topics=[]))
    fill(scene, topic, ONE)
    forgotten = FetchRequest.ForgottenTopic(topic=topic.name, topic_id=topic.topic_id, partitions=[1])
    session.ask(fetch(topic, topics=[]), forgotten_topics_data=[forgotten])
    everything = [
        FetchRequest.ForgottenTopic(topic=topic.name, topic_id=topic.topic_id, partitions=[0, 1]),
        FetchRequest.ForgottenTopic(topic=other.name, topic_id=other.topic_id, partitions=[0]),
    ]
    session.ask(fetch(topic, topics=[]), forgotten_topics_data=everything)
    session.ask(fetch(topic, topics=[]))


@script(versions=every("Fetch")[3:])
def fetch_in_a_session_with_errors(scene: Scene, version: int) -> None:
    """A partition in error is reported each time, and once more when it is well again."""
    topic = new_topic(scene)
    fill(scene, topic, ONE)
    session = Session(scene)
    session.ask(fetch(topic, 9, 0))
    session.ask(fetch(topic, topics=[]))
    session.ask(fetch(topic, 1))
    session.ask(fetch(topic, topics=[]))
    session.ask(fetch(absent_topic(scene), 0))
    session.ask(fetch(topic, topics=[]))


@script(versions=every("Fetch")[3:])
def fetch_in_a_session_that_is_not(scene: Scene, version: int) -> None:
    """An unknown id, the wrong epoch, a session that was closed."""
    topic = new_topic(scene)
    fill(scene, topic, ONE)
    ana = scene.actor()
    ana.ask(fetch(topic, 0, session_id=2_000_000_123, session_epoch=1))
    ana.ask(fetch(topic, 0, session_id=2_000_000_123, session_epoch=0))
    ana.ask(fetch(topic, 0, session_id=2_000_000_123, session_epoch=-1))
    ana.ask(fetch(topic, 0, session_id=0, session_epoch=5))
    session = Session(scene)
    session.ask(fetch(topic, 0))
    session.ask(fetch(topic, 0), session_epoch=2)
    session.ask(fetch(topic, 0), session_epoch=0)
    session.epoch = 1
    session.ask(fetch(topic, 1))
    session.ask(fetch(topic, 0), session_epoch=-1)
    session.session_id, session.epoch = session.session_id or 2_000_000_124, 2
    session.ask(fetch(topic, 0))


@script(versions=(12, 13))
def fetch_in_a_session_of_another_kind(scene: Scene, version: int) -> None:
    """A session made with names can't be used with ids, nor the reverse."""
    topic = new_topic(scene)
    fill(scene, topic, ONE)
    ana = scene.actor()
    answer = ana.ask(fetch(topic, 0, session_epoch=0))
    ana.ask(fetch(topic, 1, session_id=answer.session_id, session_epoch=1), 25 - version)
    ana.ask(fetch(topic, 1, session_id=answer.session_id, session_epoch=1))


@script(versions=every("Fetch")[9:])
def fetch_by_the_id_of_a_topic_made_anew(scene: Scene, version: int) -> None:
    """Deleted and created again, a topic has another id; the old one is unknown."""
    topic = new_topic(scene)
    fill(scene, topic, ONE)
    scene.delete_topic(topic.name)
    scene.create_topic(topic.name)
    again = Topic(topic.name, scene.topic_id(topic.name))
    ana = scene.actor()
    ana.ask(fetch(topic, 0))
    ana.ask(fetch(again, 0))
