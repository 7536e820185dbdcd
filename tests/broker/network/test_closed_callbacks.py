"""What parts of the broker have to do when a connection is gone: in order, once each, and whatever the others do."""

from __future__ import annotations

from ottla.events.kind import Kind
from ottla.events.stream import Event
from tests.broker.network.stage import Stage


async def test_callbacks_are_called_once_in_their_order() -> None:
    told: list[str] = []

    def first(connection: object) -> None:
        told.append(f"first {connection is stage.connection} {stage.connection.is_closed}")

    def second(_connection: object) -> None:
        told.append("second")

    async with Stage() as stage:
        stage.connect()
        for callback in (first, second, first):
            stage.connection.add_closed_callback(callback)
        assert told == []
        stage.connection.connection_lost(None)
        assert told == ["first True True", "second"]
        stage.connection.add_closed_callback(second)
        assert told == ["first True True", "second", "second"], "one that is added too late is called at once"


async def test_a_callback_that_is_removed_is_not_called() -> None:
    told: list[object] = []
    async with Stage() as stage:
        stage.connect()
        stage.connection.add_closed_callback(told.append)
        stage.connection.remove_closed_callback(told.append)
        stage.connection.remove_closed_callback(told.append)
        stage.connection.connection_lost(None)
        assert told == []


async def test_a_callback_that_raises_is_told_and_stops_no_other() -> None:
    def broken(_connection: object) -> None:
        raise ValueError("a bug")

    told: list[Event] = []
    called: list[object] = []
    async with Stage() as stage:
        stage.listener.node.events.read(told.append, [Kind.CONNECTION_CALLBACK_FAILED, Kind.CONNECTION_CLOSED])
        stage.connection.add_closed_callback(broken)
        stage.connect()
        stage.connection.add_closed_callback(called.append)
        stage.connection.connection_lost(None)
        assert called == [stage.connection]
        assert [event.kind for event in told] == [Kind.CONNECTION_CALLBACK_FAILED, Kind.CONNECTION_CLOSED]
        assert (told[0].node_id, repr(told[0].raised)) == (1, "ValueError('a bug')")
        assert stage.listener.connections == set()


async def test_what_a_connection_holds_ends_with_it() -> None:
    """A request that it had sent in part, and answers that it had not read."""
    async with Stage() as stage:
        stage.connect()
        stage.listener.receiving.hold(stage.connection, 7)
        stage.listener.unread.hold(stage.connection, 8)
        stage.listener.unread.hold(stage.connection, 9)
        stage.connection.connection_lost(None)
        assert (stage.listener.receiving.bytes_held, stage.listener.unread.bytes_held) == (0, 0)
