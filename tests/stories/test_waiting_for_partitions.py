"""Story W6, the part of logs: produces that wait for acks and fetches that wait for bytes go through the purgatory."""

from __future__ import annotations

from tests.broker.log_scene import error_codes, fetch_request, produce_request, replicated
from tests.support.batches import batch


def test_story_w6_fetches_and_produces_wait_in_their_purgatories() -> None:
    """Each in the one that Kafka names for it, under its partitions, counted, and completed by what happens to them."""
    scene, topic = replicated([1, 2], [1])
    produces, fetches = scene.waiting.produce, scene.waiting.fetch
    assert (produces.name, fetches.name) == ("Produce", "Fetch")
    scene.node_dies(2)

    fetch = scene.send(fetch_request(topic, 0, 0, max_wait_ms=500), 12)
    produce = scene.send(produce_request(topic, batch(), timeout_ms=1000), 9)
    assert (fetches.delayed, fetches.watched_keys) == (1, topic.partitions)
    assert (produces.delayed, produces.watched_keys) == (1, [topic.partitions[0]])

    scene.node_returns(2)
    scene.turn()
    assert error_codes(fetch.answer_given.responses) == [0, 0]
    assert error_codes(produce.answer_given.responses) == [0]
    assert (fetches.delayed, produces.delayed, fetches.expired, produces.expired) == (0, 0, 0, 0)


def test_story_w6_deadlines_are_the_purgatorys() -> None:
    """max_wait_ms and timeout_ms run in the same wheel, and each operation expires once."""
    scene, topic = replicated([1, 2])
    scene.node_dies(2)
    fetch = scene.send(fetch_request(topic, 0, max_wait_ms=500), 12)
    produce = scene.send(produce_request(topic, batch(), timeout_ms=1000), 9)
    answered = []
    for _ in range(4):
        answered.append((fetch.is_answered, produce.is_answered))
        scene.advance(499)
    assert answered == [(False, False), (False, False), (True, False), (True, True)]
    assert (scene.waiting.fetch.expired, scene.waiting.produce.expired) == (1, 1)
