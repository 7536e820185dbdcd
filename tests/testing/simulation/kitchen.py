"""The story that simulations are proved by: three aiokafka consumers share a topic, one dies, the others take over."""

from __future__ import annotations

import asyncio

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition

from ottla.testing.simulation.simulated_broker import SimulatedBroker
from ottla.testing.simulation.simulation import Simulation

PARTITIONS = 6


def tell(seed: int) -> list[str]:
    """The events of the story with this seed."""
    simulation = Simulation(seed, settings={"num.partitions": PARTITIONS}, log_level="error")
    simulation.run(one_of_three_dies)
    return simulation.events


async def one_of_three_dies(kafka: SimulatedBroker) -> None:
    """ana dies without a word; when her session is over bo and cem have her partitions."""
    kitchen = Kitchen()
    hosts = {name: kafka.host(name) for name in ("ana", "bo", "cem")}
    cooks = {name: host.run(kitchen.cook(kafka, name)) for name, host in hosts.items()}
    await kitchen.is_shared_by("ana", "bo", "cem")
    died_ms = kafka.now_ms
    hosts["ana"].die()
    await kitchen.is_shared_by("bo", "cem")
    assert 6_500 < kafka.now_ms - died_ms < 14_000, "aiokafka's session timeout is 10 s, and it beats every 3 s"
    for name in ("bo", "cem"):
        cooks[name].cancel()
        await asyncio.wait([cooks[name]])


class Kitchen:
    """Who has how many partitions."""

    def __init__(self) -> None:
        self._shares: dict[str, int] = {}
        self._changed = asyncio.Event()

    async def cook(self, kafka: SimulatedBroker, name: str) -> None:
        """Be a consumer of the group until cancelled."""
        consumer = AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, group_id="kitchen", client_id=name)
        consumer.subscribe(["orders"], listener=_Shares(self, name))
        try:
            await consumer.start()
            async for _ in consumer:
                pass
        finally:
            await consumer.stop()

    async def is_shared_by(self, *names: str) -> None:
        """Return when these have all partitions, and everybody as many."""
        while [self._shares.get(name) for name in names] != [PARTITIONS // len(names)] * len(names):
            self._changed.clear()
            await self._changed.wait()

    def has(self, name: str, partitions: int) -> None:
        """So many are this one's now."""
        self._shares[name] = partitions
        self._changed.set()


class _Shares(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, kitchen: Kitchen, name: str) -> None:
        self._kitchen = kitchen
        self._name = name

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        self._kitchen.has(self._name, 0)

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self._kitchen.has(self._name, len(assigned))
