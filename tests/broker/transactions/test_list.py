"""ListTransactions: which of the ids that a node coordinates are shown."""

from __future__ import annotations

import pytest

from ottla.pacing import TooCostly
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.list_transactions import ListTransactionsRequest
from ottla.text import pattern as patterns
from tests.broker.transactions.test_coordination import Transactions, running

IDS = ["orders-1", "orders-2", "payments-1", "Ärger"]


async def listed(scene: Transactions, pattern: str | None, states: list[str] | None = None) -> list[str]:
    answer = await scene.tell(ListTransactionsRequest(states, transactional_id_pattern=pattern), 2)
    assert answer.error_code == ErrorCode.NONE
    return sorted(state.transactional_id for state in answer.transaction_states)


async def known(scene: Transactions) -> None:
    for name in IDS:
        answer = await scene.tell(InitProducerIdRequest(name, 60_000), 4)
        assert answer.error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("pattern", "found"),
    [(None, IDS), ("", IDS), ("orders-.", IDS[:2]), ("orders", []), (".*-1", ["orders-1", "payments-1"]),
     (r"\p{Lu}\pL+", ["Ärger"]), ("(?i)ORDERS-1|ä.*", ["orders-1", "Ärger"])],
)  # fmt: skip
async def test_by_a_pattern(pattern: str | None, found: list[str]) -> None:
    """All of the id has to fit; none and an empty one stand for all."""
    async with running() as scene:
        await known(scene)
        assert await listed(scene, pattern) == sorted(found)
        assert await listed(scene, pattern, ["Ongoing"]) == []


async def test_what_is_no_pattern_is_refused() -> None:
    """And then nothing else is said."""
    async with running() as scene:
        await known(scene)
        answer = await scene.tell(ListTransactionsRequest(["Nonsense"], transactional_id_pattern="orders-("), 2)
        assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
        assert (answer.unknown_state_filters, answer.transaction_states) == ([], [])


async def test_a_pattern_that_takes_too_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who sends it loses the connection."""
    monkeypatch.setattr(patterns, "_MATCH_COST_MAX", 1000)
    async with running() as scene:
        await known(scene)
        with pytest.raises(TooCostly):
            await scene.tell(ListTransactionsRequest(transactional_id_pattern="(.?){200}x"), 2)
