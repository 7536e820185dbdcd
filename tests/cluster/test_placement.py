"""Which nodes hold which partition."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.cluster.placement import check_replicas, place
from ottla.cluster.refused import Refused
from ottla.protocol.errors import ErrorCode


def test_partitions_are_dealt_out_in_turn_from_where_the_last_topic_stopped() -> None:
    """Further replicas are the next nodes round the circle."""
    assert place([1, 2, 3], 0, 2, 3) == [[1, 2, 3], [2, 3, 1]]
    assert place([1, 2, 3], 2, 4, 3) == [[3, 1, 2], [1, 2, 3], [2, 3, 1], [3, 1, 2]]


@given(st.data())
def test_every_node_leads_and_holds_its_share(data: st.DataObject) -> None:
    """No node leads or holds more than one partition above any other, and none holds a partition twice."""
    node_ids = data.draw(st.lists(st.integers(0, 100), min_size=1, max_size=8, unique=True))
    factor = data.draw(st.integers(1, len(node_ids)))
    placed = place(node_ids, data.draw(st.integers(0, 50)), data.draw(st.integers(1, 40)), factor)
    leads = Counter(replicas[0] for replicas in placed)
    assert max(leads.values()) - min(leads[node_id] for node_id in node_ids) <= 1
    for replicas in placed:
        assert len(set(replicas)) == factor
        assert set(replicas) <= set(node_ids)


def test_more_replicas_than_nodes_are_refused() -> None:
    with pytest.raises(Refused) as refused:
        place([1, 2], 0, 1, 3)
    assert refused.value.error_code is ErrorCode.INVALID_REPLICATION_FACTOR


@pytest.mark.parametrize(
    ("replicas", "factor", "fault"),
    [
        ([], None, "an empty replica list"),
        ([9], None, "broker 9, but no such broker is registered"),
        ([1, 1], None, "the broker 1 more than once"),
        ([1], 2, "a partition with 1 replica(s)"),
    ],
)
def test_assignment_that_can_not_be_is_refused(replicas: list[int], factor: int | None, fault: str) -> None:
    with pytest.raises(Refused) as refused:
        check_replicas(replicas, [1, 2], factor)
    assert refused.value.error_code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert fault in str(refused.value.message)


def test_assignment_to_nodes_that_are_there_is_fine() -> None:
    check_replicas([2, 1], [1, 2], 2)
    check_replicas([2], [1, 2], None)
