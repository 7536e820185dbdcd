"""InitProducerId: an id for everybody. What transactional ids are given is in tests/coordinator/transactions."""

from __future__ import annotations

import pytest

from ottla.protocol.errors import ErrorCode
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


@pytest.mark.parametrize("version", [3, 4, 5])
def test_producer_that_had_an_id_gets_a_new_one(version: int) -> None:
    scene = Scene()
    answer = scene.ask(InitProducerIdRequest(None, 1000, 5, 3), version)
    assert (answer.error_code, answer.producer_epoch) == (0, 0)
    assert answer.producer_id != 5


@pytest.mark.parametrize(
    ("request_", "error_code"),
    [
        (InitProducerIdRequest(None, 1000, 5, -1), ErrorCode.INVALID_REQUEST),
        (InitProducerIdRequest(None, 1000, -1, 3), ErrorCode.INVALID_REQUEST),
        (InitProducerIdRequest("tx", 1000, 5, -1), ErrorCode.INVALID_REQUEST),
        (InitProducerIdRequest("", 1000), ErrorCode.INVALID_REQUEST),
        (InitProducerIdRequest("tx", 0), ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (InitProducerIdRequest("tx", 900_001), ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (InitProducerIdRequest("tx", 900_000), ErrorCode.NOT_COORDINATOR),  # nobody has asked for one yet
    ],
)
async def test_refused_producer_gets_no_id(request_: InitProducerIdRequest, error_code: ErrorCode) -> None:
    answer = Scene().ask(request_, 5)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (error_code, -1, -1)
