"""Apache Kafka from its jars, as the tests run it: one node, defaults but for what a single node needs."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.broker import Broker
from tests.support.kafka_process import class_path, format_storage, missing_tools, running


class Kafka:
    name = "kafka"

    def missing(self) -> str | None:
        return missing_tools()

    def prepare(self) -> None:
        class_path()

    @contextmanager
    def start(self) -> Iterator[Broker]:
        with tempfile.TemporaryDirectory(prefix="ottla-bench-") as directory:
            properties, bootstrap = format_storage(Path(directory), {"group.initial.rebalance.delay.ms": "0"})
            spawned_at = time.perf_counter()
            with running(properties, bootstrap) as broker:
                yield Broker(self.name, bootstrap, broker.pid, spawned_at)
