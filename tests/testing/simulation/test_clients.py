"""What real clients do in a simulation besides consuming."""

from __future__ import annotations

from aiokafka import AIOKafkaProducer

from ottla.testing import Simulation
from ottla.testing.simulation.simulated_broker import SimulatedBroker
from ottla.testing.simulation.world import BEGINS_MS


async def send_one(kafka: SimulatedBroker) -> int:
    """Produce a record, and return its date."""
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    await producer.start()
    try:
        await producer.send_and_wait("orders", b"soup")
    finally:
        await producer.stop()
    (record,) = kafka.topic("orders").records()
    assert kafka.now_ms >= record.timestamp_ms - BEGINS_MS >= 0
    return record.timestamp_ms


def test_records_have_the_simulated_date() -> None:
    """So the same seed writes the same records."""
    assert Simulation(3).run(send_one) == Simulation(3).run(send_one)


def test_a_fault_strikes_in_a_simulation_too() -> None:
    """The first Produce is refused; the client's pause and second attempt take no time."""

    async def story(kafka: SimulatedBroker) -> None:
        fault = kafka.fault("Produce", topic="orders").answer("NOT_LEADER_OR_FOLLOWER").once()
        await send_one(kafka)
        assert fault.hits

    Simulation(3).run(story)
