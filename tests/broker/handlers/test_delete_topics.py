"""DeleteTopics: by name, by id, and all the ways to name a topic wrongly."""

from __future__ import annotations

import pytest

from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.scene import Scene

Wanted = DeleteTopicsRequest.DeleteTopicState


def names(version: int, *wanted: str, timeout_ms: int = 1000) -> DeleteTopicsRequest:
    """By name, in the version's way."""
    if version < 6:
        return DeleteTopicsRequest(topic_names=list(wanted), timeout_ms=timeout_ms)
    return DeleteTopicsRequest(topics=[Wanted(name) for name in wanted], timeout_ms=timeout_ms)


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
