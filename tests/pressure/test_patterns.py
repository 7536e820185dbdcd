"""Patterns that clients send: none of them holds up others, and what one may cost has an end."""

from __future__ import annotations

from ottla.protocol.messages.list_transactions import ListTransactionsRequest
from tests.cli.stage import begin_transaction
from tests.pressure.stage import create_topic, ends, is_served
from tests.pressure.test_long_requests import halt
from tests.support.client import Client
from tests.support.running_broker import RunningBroker

IDS = ["ab" * 10_000, "ba" * 10_000 + "c", "abb" * 7_000]
#: Some 3,600 instructions for each letter of an id.
COSTLY = "(a|b)*a(a|b){900}" * 4 + "c"


def has_ids(client: Client) -> None:
    create_topic(client, "orders")
    for name in IDS:
        begin_transaction(client, name, "orders")


def test_others_are_served_while_ids_are_held_against_a_pattern() -> None:
    """Bo asks after Ana and is answered before her; and then she is, with what fits."""
    with RunningBroker() as broker, Client(broker.bootstrap) as ana, Client(broker.bootstrap) as bo:
        has_ids(bo)
        pace = broker.server.services.pace
        go_on = halt(broker)
        ana.send(ListTransactionsRequest(transactional_id_pattern="(ab)*(ba)*c?"), 2)
        broker.wait_until("Ana's request is half done", lambda: not pace.is_settled)
        assert is_served(bo)
        assert not ana.connection.has_received
        go_on()
        found = {state.transactional_id for state in ana.receive().message.transaction_states}
        assert found == {*IDS[:2]}


def test_a_pattern_that_costs_too_much_closes_its_connection() -> None:
    """The log says why; others go on."""
    with RunningBroker() as broker, Client(broker.bootstrap) as ana, Client(broker.bootstrap) as bo:
        has_ids(bo)
        ana.send(ListTransactionsRequest(transactional_id_pattern=COSTLY), 2)
        assert ends(ana.connection)
        (refused,) = broker.log.named("connection.refused")
        assert refused["reason"].startswith("ListTransactions v2 costs too much: a pattern ")
        assert is_served(bo)
