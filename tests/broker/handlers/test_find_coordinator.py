"""FindCoordinator: right from the first answer on."""

from __future__ import annotations

import pytest

from ottla.cluster.topic_names import GROUP_TOPIC, TRANSACTION_TOPIC
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.broker.scene import Scene

GROUP, TRANSACTION, SHARE = 0, 1, 2


def of(*keys: str, key_type: int = GROUP) -> FindCoordinatorRequest:
    """The same question for every version: one key, or the list of them."""
    return FindCoordinatorRequest(key=keys[0], key_type=key_type, coordinator_keys=list(keys))


@pytest.mark.parametrize("version", [4, 5, 6])
def test_many_keys_have_an_answer_each_in_their_order(version: int) -> None:
    """Each is the leader of its own partition, whichever node is asked; an empty key has one, too."""
    scene = Scene(nodes=3)
    keys = ["my-group", "foo", "group", ""]
    answers = [scene.ask(of(*keys), version, node_id=node_id) for node_id in (1, 3)]
    assert answers[0] == answers[1]
    placements = scene.cluster.topics[GROUP_TOPIC].placements
    expected = [placements[partition].leader_id for partition in (12, 24, 47, 0)]
    assert [(c.key, c.node_id, c.error_code, c.error_message) for c in answers[0].coordinators] == [
        (key, leader_id, 0, "") for key, leader_id in zip(keys, expected, strict=True)
    ]
    assert len(set(expected)) > 1


def test_transactional_ids_have_a_topic_of_their_own() -> None:
    """It is made on the way; each id is coordinated by the leader of its partition."""
    scene = Scene(nodes=2)
    keys = ["my-group", "foo", "group"]
    answer = scene.ask(of(*keys, key_type=TRANSACTION), 4)
    placements = scene.cluster.topics[TRANSACTION_TOPIC].placements
    assert len(placements) == 50
    expected = [placements[partition].leader_id for partition in (12, 24, 47)]
    assert [(c.key, c.node_id, c.error_code) for c in answer.coordinators] == [
        (key, leader_id, 0) for key, leader_id in zip(keys, expected, strict=True)
    ]
    assert GROUP_TOPIC not in scene.cluster.topics


def test_offsets_topic_with_too_few_partitions_leaves_groups_without_coordinator() -> None:
    """A client made it by hand; Kafka has no answer either."""
    scene = Scene()
    scene.create(GROUP_TOPIC, 13)
    assert scene.ask(of("my-group"), 2).error_code == 0  # partition 12
    refused = scene.ask(of("foo"), 2)  # partition 24
    assert (refused.error_code, refused.node_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
    assert refused.error_message


def test_offsets_topic_that_was_deleted_is_made_again() -> None:
    scene = Scene()
    scene.ask(of("g"), 3)
    scene.cluster.delete_topic(scene.cluster.topics[GROUP_TOPIC])
    assert scene.ask(of("g"), 3).error_code == 0
    assert GROUP_TOPIC in scene.cluster.topics
