"""What all clients together may make the broker hold, and who goes when it is too much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ottla.broker.network.holdings import Holdings


class Client:
    """A connection that only knows why it was closed."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def give_up(self, reason: str) -> None:
        self.reasons.append(reason)

    def add_closed_callback(self, callback: Callable[[Any], object]) -> None:
        """It is never closed."""

    remove_closed_callback = add_closed_callback


def hold(holdings: Holdings, client: Client, size: int) -> None:
    holdings.hold(client, size)


def test_the_hungriest_goes() -> None:
    """Whoever it was that asked for more."""
    holdings = Holdings("answers", 100)
    ana, bo, eve = Client(), Client(), Client()
    hold(holdings, eve, 60)
    hold(holdings, ana, 30)
    hold(holdings, bo, 20)
    assert (ana.reasons, bo.reasons) == ([], [])
    assert eve.reasons == ["60 bytes of answers; all clients together may have 100"]
    assert holdings.bytes_held == 50


def test_what_is_given_back_counts_no_more() -> None:
    holdings = Holdings("answers", 100)
    ana, bo = Client(), Client()
    for _ in range(5):
        hold(holdings, ana, 90)
        hold(holdings, ana, 0)
    hold(holdings, bo, 90)
    assert (ana.reasons, bo.reasons, holdings.bytes_held) == ([], [], 90)


def test_who_is_alone_may_have_what_one_may() -> None:
    """One request or answer has a bound of its own."""
    holdings = Holdings("answers", 100)
    ana = Client()
    hold(holdings, ana, 1_000)
    assert not ana.reasons
