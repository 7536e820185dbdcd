"""Stories C: what the client of a group consumer relies on, told over TCP, and by real clients where they can."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import Event, Thread

import pytest

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.testing import Broker
from tests.clients.client_process import until
from tests.clients.conftest import Start
from tests.clients.libraries import CONFLUENT, LIBRARIES, Library, name_of, who_can
from tests.clients.sharing import LONG_MS, each_reads_its_own, share
from tests.stories.actors import Actor, Stage
from tests.support.client import Client

SESSION_MS = 10_000
#: A session that this story does not end, however its clock is moved.
UNENDING_MS = 300_000
TICK_MS = 10
#: Clients look for changes so often; a turn is longer than the story (see `programs.kafka_python`).
WATCHFUL = {"metadata_max_age_ms": 200, "turn_seconds": 60, "session_timeout_ms": LONG_MS}


@pytest.mark.own_broker
def test_story_c1_a_paused_client_is_expelled_and_joins_anew(
    broker: Broker, stage: Stage, ana: Actor, bo: Actor
) -> None:
    """After session_timeout_ms without a sign, every request is answered UNKNOWN_MEMBER_ID, until it joins anew."""
    topic = stage.make_topic()
    ana.session_timeout_ms = SESSION_MS
    generation_id = stage.stable(bo, ana)
    broker.advance(SESSION_MS - 1)
    ana.beats().is_answered()  # a sign of life, just in time
    broker.advance(SESSION_MS - 1)
    stage.shows("Stable", members=2)
    broker.advance(1)
    stage.shows("PreparingRebalance", members=1)
    for request in (ana.beats, ana.syncs, partial(ana.commits, topic, 1), ana.joins, ana.leaves):
        request().is_answered(ErrorCode.UNKNOWN_MEMBER_ID)
    bo.joins().joined(generation_id=generation_id + 1, leader=bo)
    ana.member_id = ""
    ana.enters()
    stage.shows("PreparingRebalance", members=2)
    bo.joins().joined(generation_id=generation_id + 2, leader=bo)
    ana.joined(generation_id=generation_id + 2, leader=bo)


@pytest.mark.own_broker
@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_story_c1_with_real_clients(broker: Broker, stage: Stage, start: Start, library: Library) -> None:
    """Bo's whole process stands still, its session ends at a word, and Ana takes over. Awake again, Bo comes back."""
    topic = stage.make_topic(partitions=4)
    ana, bo = start(library, "ana"), start(library, "bo")
    ana.subscribe(group=stage.group, topics=[topic], session_timeout_ms=UNENDING_MS)
    bo.subscribe(group=stage.group, topics=[topic], session_timeout_ms=SESSION_MS)
    with time_passing(broker):
        share(topic, 4, [ana, bo])
    known = {member.member_id for member in stage.shows("Stable", members=2).members}
    bo.freeze()
    broker.advance(SESSION_MS)
    with time_passing(broker):
        share(topic, 4, [ana])
        bo.thaw()
        share(topic, 4, [ana, bo])
    now = {member.member_id for member in stage.shows("Stable", members=2).members}
    assert len(now - known) == 1


@contextmanager
def time_passing(broker: Broker) -> Iterator[None]:
    """Inside, the broker's time goes as it does for its clients, whose fetches would not end otherwise."""
    enough = Event()

    def tick() -> None:
        while not enough.wait(TICK_MS / 1000):
            broker.advance(TICK_MS)

    thread = Thread(target=tick)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()


def test_story_c2_an_older_generation_is_refused(stage: Stage, ana: Actor, bo: Actor) -> None:
    """A request from an older generation is answered ILLEGAL_GENERATION."""
    topic = stage.make_topic()
    stage.stable(ana)
    bo.enters()
    stage.shows("PreparingRebalance", members=2)
    ana.joins().joined(generation_id=2, leader=ana)
    bo.joined(generation_id=2, leader=ana)
    ana.generation_id = 1
    for request in (ana.beats, partial(ana.syncs, {ana: b"late"}), partial(ana.commits, topic, 1)):
        request().is_answered(ErrorCode.ILLEGAL_GENERATION)
    ana.generation_id = 2
    ana.beats().is_answered()


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_story_c3_commit_and_leave_on_close(stage: Stage, start: Start, library: Library) -> None:
    """Bo closes: it commits where it was, and leaves. Ana has everything long before a session or a rebalance is over,
    and begins behind Bo's last message.
    """
    topic = stage.make_topic(partitions=2)
    ana, bo = start(library, "ana"), start(library, "bo")
    for member in (ana, bo):
        member.subscribe(group=stage.group, topics=[topic], auto_commit=True, session_timeout_ms=LONG_MS)
    share(topic, 2, [ana, bo])
    each_reads_its_own(topic, 2, ana, [ana, bo])
    ((_, of_bo),) = bo.holds
    bo.close()
    share(topic, 2, [ana])
    committed = {partition: offset for _, partition, offset, _ in ana.group_offsets(group=stage.group)}
    assert committed[of_bo] == 1
    each_reads_its_own(topic, 2, ana, [ana])


def test_story_c4_a_subscription_grows(stage: Stage, start: Start) -> None:
    """A topic gets more partitions, then one more topic matches the pattern: the members see both, and rebalance."""
    topic = stage.make_topic(stem="orders")
    ana, bo = start(CONFLUENT, "ana"), start(CONFLUENT, "bo")
    for member in (ana, bo):
        member.subscribe(group=stage.group, pattern=f"{topic}.*", **WATCHFUL)

    def hold(total: int) -> None:
        until(lambda: len(ana.holds | bo.holds) == total, f"they hold {total} partitions", ana, bo)
        stage.shows("Stable", members=2)
        assert ana.holds.isdisjoint(bo.holds)

    hold(1)
    stage.backstage.add_partitions(topic, 3)
    hold(3)
    stage.backstage.create_topic(f"{topic}-more", partitions=2)
    hold(5)
    # A member may see the topic after the other has rebalanced for it; then there is one more rebalance.
    until(lambda: min(len(ana.holds), len(bo.holds)) == 2, "they share evenly", ana, bo)


@pytest.mark.own_broker
def test_story_c5_metadata_marks_internal_topics(stage: Stage) -> None:
    """Both of the topics that are the broker's own are listed, and marked; nobody else's are."""
    topic = stage.make_topic()
    stage.backstage.create_topic("__transaction_state")
    with Client(stage.bootstrap) as client:
        listed = client.ask(MetadataRequest(topics=None), 12).topics
    assert {found.name: found.is_internal for found in listed} == {
        "__consumer_offsets": True,
        "__transaction_state": True,
        topic: False,
    }


@pytest.mark.parametrize("library", who_can("hiding internal topics"), ids=name_of)
def test_story_c5_patterns_do_not_match_internal_topics(stage: Stage, start: Start, library: Library) -> None:
    """A pattern that fits every name gets Ana nothing of the group's own log."""
    topic = stage.make_topic(stem="public")
    ana = start(library, "ana")
    ana.subscribe(group=stage.group, pattern=f"({topic}|__.*)", **WATCHFUL)
    ana.until(lambda: (topic, 0) in ana.holds, "ana holds what is public")
    assert {name for name, _ in ana.holds} == {topic}


def test_story_c6_a_rolling_move_to_the_cooperative_assignor(stage: Stage) -> None:
    """Each member is restarted twice: to offer the new assignor before the old one, then to drop the old one. The group
    uses the old one until nobody is left that knows no other, and nobody is ever refused.

    Between the two rounds the assignor is the new one, and who also offers an eager one still gives everything back
    first; that is for the clients to know. For the broker they are names.
    """
    both = ("cooperative-sticky", "range")
    eager = [stage.actor(name, "range") for name in ("ana", "bo")]
    mixed = [stage.actor(name, *both) for name in ("ana", "bo")]
    moved = [stage.actor(name, "cooperative-sticky") for name in ("ana", "bo")]
    stage.stable(*eager)
    chosen = [
        restarted(stage, leaves=eager[0], stays=eager[1], comes=mixed[0]),
        restarted(stage, leaves=eager[1], stays=mixed[0], comes=mixed[1]),
        restarted(stage, leaves=mixed[0], stays=mixed[1], comes=moved[0]),
        restarted(stage, leaves=mixed[1], stays=moved[0], comes=moved[1]),
    ]
    assert chosen == ["range", "cooperative-sticky", "cooperative-sticky", "cooperative-sticky"]


def restarted(stage: Stage, *, leaves: Actor, stays: Actor, comes: Actor) -> str:
    """One of two members is another now; returns the protocol of the generation in which it is."""
    leaves.leaves().is_answered()
    stage.shows("PreparingRebalance", members=1)
    comes.enters()
    stage.shows("PreparingRebalance", members=2)
    stays.joins()
    answers = [actor.hears() for actor in (stays, comes)]
    assert [answer.error_code for answer in answers] == [0, 0]
    for actor, answer in zip((stays, comes), answers, strict=True):
        actor.generation_id, actor.protocol = answer.generation_id, answer.protocol_name
        actor.member_id = answer.member_id
    stays.syncs({stays: b"s", comes: b"c"}).synced(b"s")
    comes.syncs().synced(b"c")
    protocol: str = answers[0].protocol_name
    return protocol
