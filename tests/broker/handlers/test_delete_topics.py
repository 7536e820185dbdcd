"""DeleteTopics: by name, by id, and all the ways to name a topic wrongly."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from ottla.protocol.primitives import ZERO_UUID
from tests.broker.scene import Scene

Wanted = DeleteTopicsRequest.DeleteTopicState


def names(version: int, *wanted: str, timeout_ms: int = 1000) -> DeleteTopicsRequest:
    """By name, in the version's way."""
    if version < 6:
        return DeleteTopicsRequest(topic_names=list(wanted), timeout_ms=timeout_ms)
    return DeleteTopicsRequest(topics=[Wanted(name) for name in wanted], timeout_ms=timeout_ms)


def told(answer: Any) -> set[tuple[str | None, int, bytes]]:
    return {(result.name, result.error_code, result.topic_id) for result in answer.responses}


@pytest.mark.parametrize("version", range(1, 7))
def test_topic_is_deleted_once(version: int) -> None:
    """The second time it is unknown, from v5 on with a text."""
    scene = Scene()
    topic_id = scene.create("a").topic_id
    answer = scene.ask(names(version, "a"), version)
    assert told(answer) == {("a", 0, topic_id if version == 6 else ZERO_UUID)}
    assert answer.responses[0].error_message is None or version < 5
    assert scene.cluster.topics == {}
    again = scene.ask(names(version, "a"), version)
    assert told(again) == {("a", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ZERO_UUID)}
    if version >= 5:
        assert again.responses[0].error_message


@pytest.mark.parametrize("version", range(1, 7))
def test_name_listed_twice_has_one_answer_and_stays(version: int) -> None:
    scene = Scene()
    scene.create("a")
    scene.create("b")
    results = scene.ask(names(version, "a", "b", "a"), version).responses
    assert {(r.name, r.error_code) for r in results} == {("a", ErrorCode.INVALID_REQUEST), ("b", 0)}
    assert list(scene.cluster.topics) == ["a"]


def test_topics_are_deleted_by_id() -> None:
    scene = Scene()
    topic = scene.create("a")
    unknown = b"\7" * 16
    answer = scene.ask(DeleteTopicsRequest([Wanted(None, topic.topic_id), Wanted(None, unknown)], timeout_ms=9), 6)
    assert told(answer) == {("a", 0, topic.topic_id), (None, ErrorCode.UNKNOWN_TOPIC_ID, unknown)}
    assert scene.cluster.topics == {}


def test_topic_that_is_named_in_an_odd_way_stays() -> None:
    """Both name and id, neither, one id twice, one topic by name and by id."""
    scene = Scene()
    both, twice, mixed = (scene.create(name).topic_id for name in ("both", "twice", "mixed"))
    answer = scene.ask(
        DeleteTopicsRequest(
            [
                Wanted("both", both),
                Wanted(None, ZERO_UUID),
                Wanted(None, twice),
                Wanted(None, twice),
                Wanted("mixed"),
                Wanted(None, mixed),
            ],
            timeout_ms=1000,
        ),
        6,
    )
    assert told(answer) == {
        ("both", ErrorCode.INVALID_REQUEST, both),
        (None, ErrorCode.INVALID_REQUEST, ZERO_UUID),
        (None, ErrorCode.INVALID_REQUEST, twice),
        ("mixed", ErrorCode.INVALID_REQUEST, mixed),
    }
    assert len(answer.responses) == 4
    assert all(result.error_message for result in answer.responses)
    assert sorted(scene.cluster.topics) == ["both", "mixed", "twice"]


@pytest.mark.parametrize("version", range(1, 7))
def test_deletion_can_be_switched_off(version: int) -> None:
    scene = Scene(settings={"delete.topic.enable": "false"})
    scene.create("a")
    results = scene.ask(names(version, "a", "b"), version).responses
    expected = ErrorCode.INVALID_REQUEST if version < 3 else ErrorCode.TOPIC_DELETION_DISABLED
    assert [(r.name, r.error_code) for r in results] == [("a", expected), ("b", expected)]
    assert list(scene.cluster.topics) == ["a"]


@pytest.mark.parametrize("version", range(1, 7))
def test_no_time_is_a_timeout_unless_there_is_nothing_to_do(version: int) -> None:
    scene = Scene()
    scene.create("a")
    results = scene.ask(names(version, "a", "b", timeout_ms=0), version).responses
    assert [(r.name, r.error_code) for r in results] == [
        ("a", ErrorCode.REQUEST_TIMED_OUT),
        ("b", ErrorCode.REQUEST_TIMED_OUT),
    ]
    assert scene.ask(names(version, timeout_ms=0), version).responses == []
    assert [r.error_code for r in scene.ask(names(version, "a", "a", timeout_ms=0), version).responses] == [
        ErrorCode.INVALID_REQUEST
    ]


def test_internal_topics_may_be_deleted() -> None:
    scene = Scene()
    scene.create(GROUP_TOPIC)
    assert scene.ask(names(5, GROUP_TOPIC), 5).responses[0].error_code == 0
