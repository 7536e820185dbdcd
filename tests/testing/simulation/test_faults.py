"""Faults and barriers where client and broker share one event loop on simulated time."""

from __future__ import annotations

import asyncio
import time

import pytest
from aiokafka import AIOKafkaProducer

from ottla.testing import FaultNeverFired, NotInTime, Simulation
from ottla.testing.simulation.simulated_broker import SimulatedBroker


async def send(kafka: SimulatedBroker) -> None:
    """One record, by aiokafka."""
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers, client_id="ana")
    await producer.start()
    try:  # its coder is compiled, and would take the real time
        await producer.send_and_wait("orders", b"x", timestamp_ms=round(time.time() * 1_000))
    finally:
        await producer.stop()


async def story(kafka: SimulatedBroker) -> int:
    """A request is refused, a second one held, a third one late; returns how late it is then."""
    kafka.fault("Produce", client_id="ana").answer("NOT_ENOUGH_REPLICAS").once()
    with kafka.hold("Produce", topic="orders", nth=2) as held:
        sending = asyncio.ensure_future(send(kafka))
        request = await held.aio.wait()
        assert request.client_id == "ana"
        await asyncio.sleep(2)
        assert not sending.done()
        kafka.fault("Metadata", client_id="ana", may_not_fire=True).delay(ms=1_000).until_removed()
        with pytest.raises(NotInTime):
            await held.aio.wait(2, timeout_s=5)
        request.let_go()
        await sending
    return kafka.now_ms


def test_story_with_faults_is_the_same_with_the_same_seed() -> None:
    """Event by event, and in no time; those of faults are among them."""
    told = []
    for _ in range(2):
        simulation = Simulation(seed=5)
        assert 7_000 < simulation.run(story) < 60_000
        told.append(simulation.events)
    assert told[0] == told[1]
    assert {"fault.hit", "request.held", "request.let_go"} <= {
        kind for line in told[0] for kind in [line.split('"kind": "')[1].split('"')[0]]
    }


def test_fault_that_never_fires_fails_the_story() -> None:
    async def quiet(kafka: SimulatedBroker) -> None:
        kafka.fault("Produce").drop_answer().once()

    with pytest.raises(FaultNeverFired, match=r"set at test_faults\.py:\d+, never fired"):
        Simulation(seed=1).run(quiet)
