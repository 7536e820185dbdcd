"""Fetch sessions: how they begin, go on and end, what they tell, and who has to go when they are too many.

Kafka's FetchSessionTest has the same ground; its names stand in the docstrings.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.broker.fetching.fetch_session import (
    EVICTION_MS,
    FetchedPartition,
    FetchSession,
    FetchSessionCache,
    Incremental,
    Key,
)
from ottla.cluster.topic import Topic
from ottla.log.partition_answers import ReadResult
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.primitives import ZERO_UUID
from ottla.protocol.records import batch_spans, read_header
from tests.broker.log_scene import LogScene, absent_topic, error_codes, fetch_request, forget, only, partitions_of
from tests.support.batches import batch

VERSIONS = range(7, 19)
ONE = batch()
NOT_FOUND = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
WRONG_EPOCH = ErrorCode.INVALID_FETCH_SESSION_EPOCH


class Client:
    """The client's side of a session."""

    def __init__(self, scene: LogScene, version: int = 12) -> None:
        self.scene = scene
        self.version = version
        self.session_id = 0
        self.epoch = 0

    def ask(self, topic: Topic | None = None, *offsets: int, **changes: Any) -> Any:
        request = fetch_request(topic, *offsets, session_id=self.session_id, session_epoch=self.epoch)
        for name, value in changes.items():
            setattr(request, name, value)
        answer = self.scene.ask(request, self.version)
        if answer.error_code == 0:
            self.session_id, self.epoch = answer.session_id, request.session_epoch + 1
        return answer


def indexes(answer: Any) -> list[int]:
    return [partition.partition_index for partition in partitions_of(answer.responses)]


class TestGoingOn:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_session_ends_with_its_last_partition(self, version: int) -> None:
        """The answer has no session, and the next request finds none.

        Kafka: testZeroSizeFetchSession."""
        scene = LogScene()
        topic = scene.create("orders", partitions=2)
        client = Client(scene, version)
        session_id = client.ask(topic, 0, 0).session_id
        answer = client.ask(forgotten_topics_data=forget(topic, 0, 1))
        assert (answer.error_code, answer.session_id, answer.responses) == (0, 0, [])
        assert scene.ask(fetch_request(None, session_id=session_id, session_epoch=2), version).error_code == NOT_FOUND

    @pytest.mark.parametrize("version", VERSIONS)
    def test_offsets_that_move_are_news(self, version: int) -> None:
        """The high watermark of a partition that is not read at its end, and the start of a log."""
        scene = LogScene()
        topic = scene.create("orders", partitions=2)
        scene.append(topic, *[ONE] * 3)
        client = Client(scene, version)
        client.ask(topic, 3, 0)
        assert indexes(client.ask(topic, 3, 0)) == []
        topic.partitions[0].delete_records(1)
        moved = client.ask()
        assert (indexes(moved), only(moved.responses).log_start_offset) == ([0], 1)
        assert indexes(client.ask()) == []

    def test_partitions_with_records_go_to_the_end(self) -> None:
        """So that a small limit doesn't starve those behind. Kafka: testDeprioritizesPartitionsWithRecordsOnly."""
        scene = LogScene()
        topic = scene.create("orders", partitions=3)
        for index in range(3):
            scene.append(topic, ONE, index=index)
        client = Client(scene)
        client.ask(topic, 0, 0, 0, max_bytes=1)
        assert [indexes(client.ask(max_bytes=1)) for _ in range(6)] == [[0], [1], [2], [0], [1], [2]]

    def test_diverging_epoch_is_news(self) -> None:
        """Kafka: testDivergingEpoch, testLastFetchedEpoch."""
        scene = LogScene()
        topic = scene.create("orders")
        scene.append(topic, ONE, ONE)
        scene.lead(topic, 0, 1, leader_epoch=2)
        client = Client(scene)
        client.ask(topic, 2)
        asked = fetch_request(topic, 2, last_fetched_epoch=0).topics
        assert client.ask(topics=asked).responses == []
        asked[0].partitions[0].last_fetched_epoch, asked[0].partitions[0].fetch_offset = 0, 2
        scene.append(topic, ONE)
        asked[0].partitions[0].fetch_offset = 3
        assert only(client.ask(topics=asked).responses).diverging_epoch.end_offset == 2

    def test_session_remembers_the_claim_about_the_leader(self) -> None:
        """Until the request says otherwise. Kafka: testCachedLeaderEpoch."""
        scene = LogScene()
        topic = scene.create("orders")
        client = Client(scene)
        client.ask(topics=fetch_request(topic, 0, current_leader_epoch=0).topics)
        scene.lead(topic, 0, 1, leader_epoch=1)
        assert error_codes(client.ask().responses) == [ErrorCode.FENCED_LEADER_EPOCH]
        assert error_codes(client.ask(topics=fetch_request(topic, 0, current_leader_epoch=1).topics).responses) == [0]
        assert client.ask().responses == []

    def test_limits_can_be_changed(self) -> None:
        """A partition that is asked for again is asked for with all it says this time."""
        scene = LogScene()
        topic = scene.create("orders")
        scene.append(topic, ONE, ONE)
        client = Client(scene)
        assert (
            len(only(client.ask(topics=fetch_request(topic, 0, partition_max_bytes=1).topics).responses).records) == 70
        )
        both = client.ask(topics=fetch_request(topic, 0, partition_max_bytes=140).topics)
        assert len(only(both.responses).records) == 140

    def test_quiet_answers_wait_like_others(self) -> None:
        """An incremental request is parked, and what comes is told."""
        scene = LogScene()
        topic = scene.create("orders", partitions=2)
        client = Client(scene)
        client.ask(topic, 0, 0)
        request = fetch_request(None, max_wait_ms=500, session_id=client.session_id, session_epoch=1)
        call = scene.send(request, 12)
        scene.append(topic, ONE, index=1)
        scene.turn()
        assert indexes(call.answer_given) == [1]

    def test_session_that_went_on_while_a_request_waited(self) -> None:
        """The answer of the first request would be out of turn."""
        scene = LogScene()
        topic = scene.create("orders")
        client = Client(scene)
        client.ask(topic, 0)
        call = scene.send(fetch_request(None, max_wait_ms=500, session_id=client.session_id, session_epoch=1), 12)
        scene.ask(fetch_request(None, session_id=client.session_id, session_epoch=2), 12)
        scene.advance(500)
        answer = call.answer_given
        assert (answer.error_code, answer.session_id, answer.responses) == (WRONG_EPOCH, client.session_id, [])

    def test_epoch_comes_round(self) -> None:
        """After the largest comes 1, for 0 is the beginning. Kafka: FetchMetadata.nextEpoch."""
        scene = LogScene()
        topic = scene.create("orders")
        client = Client(scene)
        session_id = client.ask(topic, 0).session_id
        session = scene.nodes[1].fetch_sessions.get(session_id)
        assert session is not None
        session.epoch = client.epoch = 2**31 - 1
        assert client.ask().error_code == 0
        client.epoch = 1
        assert client.ask().error_code == 0


class TestBeginningAndEnd:
    @pytest.mark.parametrize("version", VERSIONS)
    @pytest.mark.parametrize("epoch", [0, -1])
    def test_full_request_closes_the_session_it_names(self, epoch: int, version: int) -> None:
        """Epoch 0 begins another one, -1 does not."""
        scene = LogScene()
        topic = scene.create("orders")
        client = Client(scene, version)
        old_id = client.ask(topic, 0).session_id
        answer = scene.ask(fetch_request(topic, 0, session_id=old_id, session_epoch=epoch), version)
        assert (answer.session_id > 0, indexes(answer)) == (epoch == 0, [0])
        assert client.ask().error_code == NOT_FOUND
        assert len(scene.nodes[1].fetch_sessions) == (1 if epoch == 0 else 0)

    def test_session_belongs_to_its_node(self) -> None:
        scene = LogScene(nodes=2)
        topic = scene.create("orders", replicas=2)
        session_id = scene.ask(fetch_request(topic, 0, session_epoch=0), 12).session_id
        request = fetch_request(None, session_id=session_id, session_epoch=1)
        assert scene.ask(request, 12, node_id=2).error_code == NOT_FOUND
        assert scene.ask(request, 12, node_id=1).error_code == 0

    @pytest.mark.parametrize("version", VERSIONS)
    def test_session_of_nothing(self, version: int) -> None:
        """It begins like any other, and ends with the next request unless that has a partition."""
        scene = LogScene()
        client = Client(scene, version)
        assert client.ask().session_id > 0
        assert client.ask(scene.create("orders"), 0).session_id > 0

    def test_no_room(self) -> None:
        """Then there is no session, which every client copes with."""
        scene = LogScene(settings={"max.incremental.fetch.session.cache.slots": "0"})
        topic = scene.create("orders")
        answer = scene.ask(fetch_request(topic, 0, session_epoch=0), 12)
        assert (answer.session_id, indexes(answer)) == (0, [0])


class TestTopicIds:
    @pytest.mark.parametrize("version", range(13, 19))
    def test_topic_that_comes_to_be(self, version: int) -> None:
        """An id that nobody knew is found out about. Kafka: testFetchSessionWithUnknownId,
        testResolveUnknownPartitions."""
        scene = LogScene()
        topic = scene.create("orders")
        unknown = absent_topic(topic)
        client = Client(scene, version)
        first = client.ask(unknown, 0)
        assert error_codes(first.responses) == [ErrorCode.UNKNOWN_TOPIC_ID]
        assert first.responses[0].topic_id == unknown.topic_id
        scene.cluster.create_topic("absent", [[1]], {}, unknown.topic_id)
        assert error_codes(client.ask().responses) == [0]
        assert client.ask().responses == []

    @pytest.mark.parametrize("version", range(13, 19))
    def test_topic_that_goes_and_is_made_anew(self, version: int) -> None:
        """The session knows its name by now, so it is unknown as a name, and then another one's. Kafka:
        testFetchSessionUpdateTopicIdsBrokerSide."""
        scene = LogScene()
        topic = scene.create("orders")
        client = Client(scene, version)
        client.ask(topic, 0)
        scene.cluster.delete_topic(topic)
        assert error_codes(client.ask().responses) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        anew = scene.create("orders")
        answer = client.ask()
        assert error_codes(answer.responses) == [ErrorCode.INCONSISTENT_TOPIC_ID]
        assert answer.responses[0].topic_id == topic.topic_id
        both = client.ask(anew, 0)
        assert error_codes(both.responses) == [ErrorCode.INCONSISTENT_TOPIC_ID, 0]

    @pytest.mark.parametrize("version", range(7, 13))
    def test_by_name_the_new_topic_is_the_old_one(self, version: int) -> None:
        scene = LogScene()
        topic = scene.create("orders")
        client = Client(scene, version)
        client.ask(topic, 0)
        scene.cluster.delete_topic(topic)
        assert error_codes(client.ask().responses) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        scene.create("orders")
        assert error_codes(client.ask().responses) == [0]

    def test_not_hosted_comes_before_the_other_id(self) -> None:
        scene = LogScene(nodes=2)
        topic = scene.create("orders")
        node_id = topic.placements[0].leader_id
        session_id = scene.ask(fetch_request(topic, 0, session_epoch=0), 13, node_id=node_id).session_id
        scene.cluster.delete_topic(topic)
        anew = scene.create("orders")
        anew.placements[0].leader_id = 3 - node_id
        anew.placements[0].replicas = [3 - node_id]
        answer = scene.ask(fetch_request(None, session_id=session_id, session_epoch=1), 13, node_id=node_id)
        assert error_codes(answer.responses) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


class Cache:
    """A cache of two slots, and a clock."""

    def __init__(self, slots: int = 2, partitions_max: int = 1_000) -> None:
        self.now_ms = 0
        self.sessions = FetchSessionCache(slots, lambda: self.now_ms, partitions_max)

    def create(self, size: int, *, is_privileged: bool = False) -> FetchSession | None:
        partitions: dict[Key, FetchedPartition] = {
            ("orders", index): FetchedPartition("orders", ZERO_UUID, index, 0, 0) for index in range(size)
        }
        return self.sessions.create(partitions, uses_topic_ids=False, is_privileged=is_privileged)

    def use(self, session: FetchSession) -> None:
        going_on = self.sessions.begin_or_go_on(
            session.session_id, session.epoch, {}, [], uses_topic_ids=False, is_privileged=session.is_privileged
        )
        assert isinstance(going_on, Incremental)

    def has(self, session: FetchSession | None) -> bool:
        return session is not None and self.sessions.get(session.session_id) is session


def asked(name: str, *indexes: int) -> dict[Key, FetchedPartition]:
    return {(name, index): FetchedPartition(name, ZERO_UUID, index, 0, 0) for index in indexes}


class TestRoomForPartitions:
    """There is room for so many in all sessions together, however few sessions they are."""

    def test_no_session_beyond(self) -> None:
        """The client is answered all the same; when others have gone there is room again."""
        cache = Cache(slots=10, partitions_max=10)
        assert cache.create(11) is None
        first = cache.create(6)
        assert cache.create(5) is None
        assert cache.create(4) is not None
        assert first is not None
        cache.sessions.begin_or_go_on(first.session_id, -1, {}, [], uses_topic_ids=False, is_privileged=False)
        assert cache.create(6) is not None

    def test_who_is_unused_makes_room(self) -> None:
        cache = Cache(slots=10, partitions_max=10)
        unused = [cache.create(5), cache.create(5)]
        cache.now_ms = EVICTION_MS + 1
        assert cache.create(10) is not None
        assert not any(map(cache.has, unused))

    def test_session_that_grows_beyond(self) -> None:
        cache = Cache(slots=10, partitions_max=10)
        session, other = cache.create(4), cache.create(5)
        assert session is not None
        error = cache.sessions.begin_or_go_on(
            session.session_id, 1, asked("payments", 0, 1), [], uses_topic_ids=False, is_privileged=False
        )
        assert error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        assert (cache.has(session), cache.has(other)) == (False, True)
        assert cache.create(5) is not None, "its room is free"

    def test_session_that_changes_within(self) -> None:
        """What it forgets is free for what it adds."""
        cache = Cache(slots=10, partitions_max=5)
        session = cache.create(5)
        assert session is not None
        for epoch, (name, forgotten) in enumerate((("payments", "orders"), ("orders", "payments")), start=1):
            going_on = cache.sessions.begin_or_go_on(
                session.session_id,
                epoch,
                asked(name, 0, 1),
                [(forgotten, 0), (forgotten, 1)],
                uses_topic_ids=False,
                is_privileged=False,
            )
            assert isinstance(going_on, Incremental)

    def test_long_names_count_for_several(self) -> None:
        """Nobody checks the name of a topic that does not exist."""
        cache = Cache(slots=10, partitions_max=10)
        assert cache.sessions.create(asked("n" * 4_000, 0), uses_topic_ids=False, is_privileged=False) is None


class TestRoom:
    def test_ids_are_positive_and_not_given_twice(self) -> None:
        """Kafka: testNewSessionId."""
        cache = Cache(slots=1000)
        sessions = [cache.create(1) for _ in range(1000)]
        ids = {session.session_id for session in sessions if session}
        assert len(ids) == 1000
        assert all(0 < session_id < 2**31 for session_id in ids)

    def test_unused_for_two_minutes(self) -> None:
        """The one that was not used for longest makes room; a use counts from its time. Kafka: testSessionCache,
        testFetchSessionExpiration."""
        cache = Cache()
        first, second = cache.create(10), cache.create(10)
        assert first is not None
        cache.now_ms = EVICTION_MS
        assert cache.create(10) is None
        cache.use(first)
        cache.now_ms = EVICTION_MS + 1
        third = cache.create(1)
        assert (cache.has(first), cache.has(second), cache.has(third)) == (True, False, True)
        assert cache.create(1) is None

    def test_larger_one_puts_out_a_smaller_one_that_is_old(self) -> None:
        """Old enough is who was used two minutes after it began; of these the smallest goes."""
        cache = Cache(slots=3)
        small, large, young = cache.create(2), cache.create(5), None
        assert small is not None
        assert large is not None
        cache.now_ms = EVICTION_MS + 1
        young = cache.create(1)
        for session in (small, large):
            cache.use(session)
        assert cache.create(1) is None
        third = cache.create(3)
        assert [cache.has(session) for session in (small, large, young, third)] == [False, True, True, True]
        assert cache.create(4) is None

    def test_replicas_go_before_consumers(self) -> None:
        """They put out any consumer at once, but each other only when old. Kafka: testPrivilegedSessionHandling."""
        cache = Cache()
        first, second = cache.create(9), cache.create(8)
        replica = cache.create(1, is_privileged=True)
        assert [cache.has(session) for session in (first, second, replica)] == [True, False, True]
        another = cache.create(1, is_privileged=True)
        assert cache.has(another)
        assert cache.create(100, is_privileged=True) is None
        assert cache.create(100) is None

    @pytest.mark.parametrize("version", VERSIONS)
    def test_sessions_of_replicas_are_made_as_such(self, version: int) -> None:
        scene = LogScene(nodes=2)
        topic = scene.create("orders", replicas=2)
        leader_id, follower_id = topic.placements[0].replicas
        request = fetch_request(topic, 0, session_epoch=0, replica_id=follower_id)
        if version >= 15:
            request.replica_id, request.replica_state = -1, FetchRequest.ReplicaState(follower_id)
        for asked, is_privileged in ((request, True), (fetch_request(topic, 0, session_epoch=0), False)):
            session_id = scene.ask(asked, version, node_id=leader_id).session_id
            session = scene.nodes[leader_id].fetch_sessions.get(session_id)
            assert session is not None
            assert session.is_privileged == is_privileged

    def test_size_counts_as_of_the_last_use(self) -> None:
        cache = Cache()
        session = cache.create(2)
        assert session is not None
        del session.partitions["orders", 0]
        assert cache.sessions.partition_count == 2
        cache.use(session)
        assert cache.sessions.partition_count == 1


@pytest.mark.parametrize(
    ("changes", "is_news"),
    [
        ({}, False),
        ({"records": b"records"}, True),
        ({"high_watermark": 6}, True),
        ({"log_start_offset": 2}, True),
        ({"diverging_epoch": (0, 3)}, True),
        ({"last_stable_offset": 4}, False),
        ({"log_end_offset": 9}, False),
    ],
)
def test_what_is_news(changes: dict[str, Any], is_news: bool) -> None:
    """What makes a partition worth mentioning, cell by cell. Kafka: CachedPartition.maybeUpdateResponseData."""
    partition = FetchedPartition("orders", ZERO_UUID, 0, 0, 0, high_watermark=5, log_start_offset=1)
    result = ReadResult(ErrorCode.NONE, **{"high_watermark": 5, "log_start_offset": 1} | changes)
    assert partition.tell(result) == is_news
    is_still_news = bool(changes.get("records") or changes.get("diverging_epoch"))
    assert partition.tell(result) == is_still_news


def test_errors_are_news_until_they_end() -> None:
    partition = FetchedPartition("orders", ZERO_UUID, 0, 0, 0, high_watermark=5, log_start_offset=1)
    well = ReadResult(ErrorCode.NONE, high_watermark=5, log_start_offset=1)
    ill = ReadResult(ErrorCode.UNKNOWN_LEADER_EPOCH)
    assert [partition.tell(result) for result in (well, ill, ill, well, well)] == [False, True, True, True, False]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 2)),
        st.tuples(st.just("poll"), st.integers(1, 200)),
        st.tuples(st.just("drop"), st.integers(0, 2)),
        st.tuples(st.just("break"), st.just(0)),
    ),
    max_size=40,
)


@given(steps=STEPS, version=st.sampled_from([7, 12, 13, 18]))
def test_consumer_in_a_session_misses_nothing(steps: list[tuple[str, int]], version: int) -> None:
    """Records come in order, each once: whatever the limits are, whichever partitions it leaves for a while, however
    often its session is lost."""
    scene = LogScene()
    topic = scene.create("orders", partitions=3)
    client = Client(scene, version)
    positions = dict.fromkeys(range(3), 0)
    wanted = {0, 1, 2}
    changed = {0, 1, 2}

    def poll(limit: int, forgotten: list[FetchRequest.ForgottenTopic]) -> None:
        request = fetch_request(topic, *positions.values(), max_bytes=limit)
        asked = [p for p in request.topics[0].partitions if p.partition in (wanted if client.epoch == 0 else changed)]
        request.topics[0].partitions = asked
        changed.clear()
        answer = client.ask(topics=request.topics, max_bytes=limit, forgotten_topics_data=forgotten)
        if answer.error_code:
            client.session_id, client.epoch = 0, 0
            return
        if answer.session_id == 0:
            client.epoch = 0
        for partition in partitions_of(answer.responses):
            assert partition.error_code == 0
            index = partition.partition_index
            for span in batch_spans(partition.records):
                assert read_header(partition.records, span.position).base_offset == positions[index]
                positions[index] += 1
                changed.add(index)

    for step, value in steps:
        match step:
            case "append":
                scene.append(topic, ONE, index=value)
            case "poll":
                poll(value, [])
            case "drop" if value in wanted and client.epoch > 0:
                wanted.discard(value)
                changed.discard(value)
                poll(1, forget(topic, value))
            case "drop":
                wanted.add(value)
                changed.add(value)
            case "break":
                client.session_id += 1
    for index in {0, 1, 2} - wanted:
        wanted.add(index)
        changed.add(index)
    for _ in range(len(steps) + 2):
        poll(1 << 20, [])
    assert list(positions.values()) == [partition.log_end_offset for partition in topic.partitions]
