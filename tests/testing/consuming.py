"""Real consumers that poll in threads of their own while a test goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, Message

#: How long a poll holds up the end of the block, at most.
_POLL_SECONDS = 0.05


@contextmanager
def consuming(
    bootstrap_servers: str,
    group_id: str,
    *topics: str,
    client_id: str = "ana",
    settings: Mapping[str, Any] | None = None,
    on_message: Callable[[Consumer, Message], object] = lambda _consumer, _message: None,
) -> Iterator[Consumer]:
    """A confluent-kafka consumer that polls until the block ends, and then leaves its group."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": group_id,
            "client.id": client_id,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **(settings or {}),
        }
    )
    consumer.subscribe(list(topics))
    is_over = threading.Event()

    def poll() -> None:
        while not is_over.is_set():
            message = consumer.poll(_POLL_SECONDS)
            if message is not None and message.error() is None:
                on_message(consumer, message)

    polling = threading.Thread(target=poll, name=client_id)
    polling.start()
    try:
        yield consumer
    finally:
        is_over.set()
        polling.join()
        consumer.close()
