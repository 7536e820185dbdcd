"""Who plays in these stories: cooks of the group kitchen, each a real consumer of orders that commits what it has read.

They know nothing of Ottla. The first two poll in a thread of their own, the third in a task of the test's event loop.
Heartbeats are quick, for by them members hear what has happened.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any

from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer
from kafka import KafkaConsumer

#: How long a poll holds up the end of a story, at most.
_POLL_S = 0.05


class Cook(ABC):
    """Works in a thread of its own until it goes home."""

    def __init__(self, name: str) -> None:
        #: Whether it polls: a busy cook does not.
        self.polls = threading.Event()
        self.polls.set()
        self.goes_home = threading.Event()
        self.thread = threading.Thread(target=self._work, name=name)
        self.thread.start()

    def go_home(self) -> None:
        """Close the consumer, which leaves the group. Going home twice does nothing."""
        self.goes_home.set()
        self.polls.set()
        self.thread.join()

    def _work(self) -> None:
        while not self.goes_home.is_set():
            self.polls.wait()
            self.cook()
        self.close()

    @abstractmethod
    def cook(self) -> None:
        """Poll once, and commit what was cooked."""

    @abstractmethod
    def close(self) -> None:
        """Close the consumer."""


class ConfluentCook(Cook):
    """With confluent-kafka."""

    def __init__(self, bootstrap_servers: str, name: str, topic: str, settings: dict[str, Any]) -> None:
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": "kitchen",
                "client.id": name,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": 50,
                **settings,
            }
        )
        self.commits = not settings.get("enable.auto.commit")
        self.consumer.subscribe([topic])
        super().__init__(name)

    def cook(self) -> None:
        order = self.consumer.poll(_POLL_S)
        if self.commits and order is not None and order.error() is None:
            self.consumer.commit(message=order, asynchronous=False)

    def close(self) -> None:
        self.consumer.close()


class KafkaPythonCook(Cook):
    """With kafka-python."""

    def __init__(self, bootstrap_servers: str, name: str, topic: str, settings: dict[str, Any]) -> None:
        self.consumer = KafkaConsumer(
            bootstrap_servers=bootstrap_servers,
            group_id="kitchen",
            client_id=name,
            auto_offset_reset="earliest",
            heartbeat_interval_ms=50,
            **{"enable_auto_commit": False, **settings},
        )
        self.commits = not settings.get("enable_auto_commit")
        self.consumer.subscribe(pattern=topic) if topic.startswith("^") else self.consumer.subscribe([topic])
        super().__init__(name)

    def cook(self) -> None:
        if self.consumer.poll(timeout_ms=int(_POLL_S * 1000)) and self.commits:
            self.consumer.commit()

    def close(self) -> None:
        self.consumer.close()


class AiokafkaCook:
    """With aiokafka."""

    def __init__(self, bootstrap_servers: str, name: str, topic: str, settings: dict[str, Any]) -> None:
        self.consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap_servers,
            group_id="kitchen",
            client_id=name,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            **{"heartbeat_interval_ms": 50, "retry_backoff_ms": 20, **settings},
        )
        self.consumer.subscribe(pattern=topic) if topic.startswith("^") else self.consumer.subscribe([topic])
        self.task = asyncio.create_task(self._work(), name=name)

    async def go_home(self) -> None:
        """Close the consumer, which leaves the group. Going home twice does nothing."""
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task

    async def _work(self) -> None:
        try:
            await self.consumer.start()
            async for _order in self.consumer:
                await self.consumer.commit()
        finally:
            await self.consumer.stop()
