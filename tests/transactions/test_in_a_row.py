"""Transactions of one producer, each begun as soon as the one before is answered to be decided."""

from __future__ import annotations

from typing import Any, Final

import pytest

from ottla.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.primitives import Message
from tests.support.client import Client
from tests.support.error_codes import error_codes
from tests.support.running_broker import Loop, RunningBroker

TRANSACTIONS: Final = 100
ID: Final = "tx"
#: As many as are written at once, with that of the offsets.
PARTITIONS: Final = 63


@pytest.mark.parametrize("loop", ["best", "asyncio"])
def test_none_is_told_to_wait_for_the_one_before(loop: Loop) -> None:
    """Where all markers can be written they are, offsets' too, before the broker reads what a client asks next."""
    with RunningBroker(loop=loop) as broker, Client(broker.bootstrap) as client:

        def ask(request: Message, version: int) -> Any:
            answer = client.ask(request, version)
            assert set(error_codes(answer)) == {0}, answer
            return answer

        ask(CreateTopicsRequest([CreateTopicsRequest.CreatableTopic("orders", PARTITIONS, 1)], 10_000), 5)
        ask(FindCoordinatorRequest("group", 0), 2)
        ask(FindCoordinatorRequest(ID, 1), 2)
        begun = ask(InitProducerIdRequest(ID, 60_000), 4)
        who = ID, begun.producer_id, begun.producer_epoch
        topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic("orders", list(range(PARTITIONS)))
        for number in range(TRANSACTIONS):
            ask(AddPartitionsToTxnRequest(None, *who, [topic]), 3)
            ask(AddOffsetsToTxnRequest(*who, "group"), 3)
            ask(EndTxnRequest(*who, committed=number % 2 == 0), 4)
