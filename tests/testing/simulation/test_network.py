"""Connections in memory: as with sockets, but for the time they take, which the seed decides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer

from ottla.testing import Simulation
from ottla.testing.simulation.simulated_broker import SimulatedBroker

PORT = 7


def tell(story: Callable[[SimulatedBroker], Coroutine[Any, Any, Any]], **options: Any) -> Any:
    return Simulation(5, **options).run(story)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send back what comes, until nothing more does."""
    while data := await reader.read(65_536):
        writer.write(data)
    writer.close()


def test_what_is_written_comes_back_in_order_and_takes_its_time() -> None:
    """Two ways of 5 to 10 ms each, after two for the connection; who says no more still hears the rest."""

    async def story(kafka: SimulatedBroker) -> None:
        await asyncio.start_server(echo, "127.0.0.1", PORT)
        began_ms = kafka.now_ms
        reader, writer = await asyncio.open_connection("localhost", PORT)
        assert 10 <= kafka.now_ms - began_ms <= 21
        for number in range(100):
            writer.write(b"%d " % number)
        writer.write_eof()
        assert await reader.read() == b"".join(b"%d " % number for number in range(100))
        assert 20 <= kafka.now_ms - began_ms <= 45
        writer.close()

    tell(story, latency_ms=(5, 10))


def test_nobody_there_refuses() -> None:
    """As does a port that was given back."""

    async def story(_: SimulatedBroker) -> None:
        with pytest.raises(ConnectionRefusedError, match=r"\('127\.0\.0\.1', 7\)"):
            await asyncio.open_connection("127.0.0.1", PORT)
        server = await asyncio.start_server(echo, "127.0.0.1", PORT)
        with pytest.raises(OSError, match="in use"):
            await asyncio.start_server(echo, "127.0.0.1", PORT)
        server.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", PORT)

    tell(story)


def test_who_does_not_read_holds_the_writer_up() -> None:
    """Beyond the high-water mark `drain` waits, until the other end reads."""

    async def story(_kafka: SimulatedBroker) -> None:
        may_read = asyncio.Event()
        received = 0

        async def read_late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal received
            await may_read.wait()
            while data := await reader.read(10_000):
                received += len(data)
            writer.close()

        await asyncio.start_server(read_late, "127.0.0.1", PORT)
        _, writer = await asyncio.open_connection("127.0.0.1", PORT)
        for _ in range(10):
            writer.write(bytes(100_000))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(writer.drain(), 60)
        may_read.set()
        await writer.drain()
        writer.close()
        await asyncio.sleep(1)
        assert received == 1_000_000

    tell(story)


def test_a_host_that_is_cut_off_is_silent_and_loses_nothing() -> None:
    """What was sent meanwhile arrives when it is back, in order; connections wait as well."""

    async def story(kafka: SimulatedBroker) -> None:
        await asyncio.start_server(echo, "127.0.0.1", PORT)
        ana = kafka.host("ana")
        reader, writer = await ana.run(asyncio.open_connection("127.0.0.1", PORT))
        assert writer.get_extra_info("sockname")[0] == ana.address
        ana.cut()
        writer.write(b"one ")
        connecting = ana.run(asyncio.open_connection("127.0.0.1", PORT))
        await asyncio.sleep(30)
        writer.write(b"two ")
        assert not connecting.done()
        reading = ana.run(reader.read(4))
        await asyncio.sleep(30)
        assert not reading.done()
        ana.heal()
        assert await reading + await reader.readexactly(4) == b"one two "
        _, second = await connecting
        second.close()
        writer.close()

    tell(story)


def test_a_host_that_dies_does_nothing_any_more() -> None:
    """Its connections end, its code does not run on; only when the story is over it may clean up."""
    said: list[str] = []

    async def story(kafka: SimulatedBroker) -> None:
        heard = asyncio.get_running_loop().create_future()

        async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heard.set_result(await reader.read())
            writer.close()

        async def speak() -> None:
            _, writer = await asyncio.open_connection("127.0.0.1", PORT)
            writer.write(b"I am")
            try:
                await asyncio.sleep(10)
                said.append("not dead")
            finally:
                said.append("cleaned up")
                writer.close()

        await asyncio.start_server(listen, "127.0.0.1", PORT)
        ana = kafka.host("ana")
        ana.run(speak())
        await asyncio.sleep(5)
        ana.die()
        assert await heard == b"I am"
        await asyncio.sleep(60)
        assert said == []

    tell(story)
    assert said == ["cleaned up"]


def test_what_a_program_has_the_broker_do_is_done_though_its_host_dies() -> None:
    """The broker is on no host: who waits for a record that was written so gets it."""

    async def story(kafka: SimulatedBroker) -> None:
        async def write_and_die() -> None:
            kafka.topic("orders").produce("x")
            ana.die()

        kafka.topic("orders").create()
        ana = kafka.host("ana")
        consumer = AIOKafkaConsumer(
            "orders", bootstrap_servers=kafka.bootstrap_servers, fetch_max_wait_ms=30_000, auto_offset_reset="earliest"
        )
        await consumer.start()
        try:
            reading = asyncio.ensure_future(consumer.getone())
            await asyncio.sleep(5)
            ana.run(write_and_die())
            assert (await asyncio.wait_for(reading, 5)).value == b"x"
        finally:
            await consumer.stop()

    tell(story)


def test_what_a_program_waits_for_of_the_broker_goes_on_though_its_host_dies() -> None:
    """A node that is being stopped is stopped, and can be started again."""

    async def story(kafka: SimulatedBroker) -> None:
        async def stop_and_die() -> None:
            asyncio.get_running_loop().call_soon(ana.die)
            await kafka.stop_node(2)

        ana = kafka.host("ana")
        ana.run(stop_and_die())
        await asyncio.sleep(30)
        await asyncio.wait_for(kafka.start_node(2), 5)

    tell(story, nodes=2)


def test_a_node_that_dies_resets_its_connections_and_comes_back_where_it_was() -> None:
    """And while it is away its address is nobody's."""

    async def story(kafka: SimulatedBroker) -> None:
        host, _, port = kafka.bootstrap_servers.partition(",")[0].rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        await asyncio.sleep(1)
        await kafka.stop_node(1, hard=True)
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(host, int(port))
        await kafka.start_node(1)
        _, writer = await asyncio.open_connection(host, int(port))
        writer.close()

    tell(story, nodes=3)
