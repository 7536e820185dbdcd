"""librdkafka's mock cluster, which confluent-kafka brings along: one broker, in a Python process that only holds it."""

from __future__ import annotations

import importlib.util
import signal
import sys
from contextlib import AbstractContextManager

from bench.broker import Broker, process


class Mock:
    name = "mock"

    def missing(self) -> str | None:
        return None if importlib.util.find_spec("confluent_kafka") else "confluent-kafka is not installed"

    def prepare(self) -> None:
        pass

    def start(self) -> AbstractContextManager[Broker]:
        return process(self.name, [sys.executable, "-m", "bench.peers.mock"])


def main() -> None:
    """Hold a mock cluster until SIGTERM."""
    from confluent_kafka import Producer  # in the process of the mock alone

    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    holder = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    broker = next(iter(holder.list_topics(timeout=10).brokers.values()))
    print(f"mock ready bootstrap={broker.host}:{broker.port}", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
