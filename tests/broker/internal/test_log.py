"""The coordinators' log: a large batch is built in slices, and appended in one go."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from ottla.broker.internal.log import InternalLog
from ottla.cluster.topic import Topic
from ottla.pacing import Pace
from ottla.protocol.errors import ErrorCode
from tests.broker.log_scene import LogScene


def a_replica_falls_behind(topic: Topic) -> None:
    topic.placements[0].isr = [1]


def the_topic_goes(topic: Topic) -> None:
    topic.delete()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (a_replica_falls_behind, ErrorCode.NOT_ENOUGH_REPLICAS),
        (the_topic_goes, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_what_changes_while_a_batch_is_built_counts(change: Callable[[Topic], None], error: ErrorCode) -> None:
    scene = LogScene(nodes=2)
    topic = scene.cluster.create_topic("__internal", [[1, 2]], {"min.insync.replicas": "2"})
    log = InternalLog(scene.cluster, topic.name)
    ticks = count()
    pace = Pace(lambda _task: None, lambda: float(next(ticks)))
    errors: list[ErrorCode] = []
    pace.run(lambda: errors.append(log.append(0, [(b"key", b"value")] * 100)))
    assert errors == [], "it was not suspended"
    change(topic)
    pace.close()
    assert errors == [error]
    assert topic.partitions[0].log_end_offset == 0
