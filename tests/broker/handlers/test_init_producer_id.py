"""InitProducerId: an id for everybody. What transactional ids are given is in tests/coordinator/transactions."""

from __future__ import annotations

import pytest

from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from tests.broker.scene import Scene


@pytest.mark.parametrize("version", range(6))
def test_every_producer_gets_an_id_of_its_own(version: int) -> None:
    """From whichever node; epoch 0; what it says of a timeout does not count."""
    scene = Scene(nodes=2)
    answers = [scene.ask(InitProducerIdRequest(None, -5), version, node_id=node_id) for node_id in (1, 2, 1)]
    assert [(answer.error_code, answer.producer_epoch) for answer in answers] == [(0, 0)] * 3
    assert len({answer.producer_id for answer in answers}) == 3
    assert all(answer.producer_id >= 0 for answer in answers)
