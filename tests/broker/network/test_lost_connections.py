"""Connections that are lost while something of theirs is under way."""

from __future__ import annotations

from ottla.broker.network.interception import InterceptedCall
from tests.broker.network.stage import FRAME, Stage, Waits


async def test_who_is_lost_while_a_worker_handles_its_request_waits_for_nothing() -> None:
    """A fetch would else be watched for as long as the client was ready to wait."""
    abandoned: list[InterceptedCall] = []

    class LostMeanwhile(Waits):
        def request(self, call: InterceptedCall) -> None:
            stage.connection.connection_lost(None)
            call.on_abandoned = lambda: abandoned.append(call)

    async with Stage() as stage:
        stage.shared.routes.intercept(LostMeanwhile())
        stage.connect()
        stage.receive(FRAME)
        assert len(abandoned) == 1
