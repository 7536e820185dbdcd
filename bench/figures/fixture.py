"""What a broker in a test costs: to start and to stop, a thousand of them, state put back, a session that ends.

All in the process of the test, as people use it, but the thousand tests, which pytest runs in one of its own. Best of
many, as other figures are: what else the machine does falls on some of them.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from confluent_kafka import Consumer

from bench.broker import Broker as Peer
from bench.broker import UnableError
from bench.figures.figure import Figure, Row, Values
from ottla.testing import Broker
from tests.testing.simulation.kitchen import tell

TIMES = 50
TESTS = 1_000
TOPICS, RECORDS = 20, 10_000
SESSION_TIMEOUT_MS = 45_000

START = Row("Broker() in a warm process: start, ms", digits=2, smaller_is_better=True, goal="≤ 1.5")
STOP = Row("… stop, ms", digits=2, smaller_is_better=True, goal="≤ 0.5")
MANY = Row("1,000 tests with a broker each, a produce and a consume by aiokafka, s", 1, True, goal="≤ 15")
MANY_CPU = Row("… CPU s", digits=1, smaller_is_better=True)
RESET = Row(f"reset of {TOPICS} topics with {RECORDS:,} records, ms", digits=2, smaller_is_better=True, goal="≤ 2")
RESTORE = Row("snapshot and restore of the same, ms", digits=2, smaller_is_better=True, goal="≤ 5")
FORK = Row("snapshot and a fork of the same, ms", digits=2, smaller_is_better=True)
EXPIRY = Row("a session of 45 s ends, seen by confluent-kafka, s", digits=2, smaller_is_better=True, goal="≤ 0.5")
SIMULATED = Row("a simulated test with three aiokafka consumers, expiry and rejoin, ms", 0, True, goal="≤ 60")
SIMULATED_MEAN = Row(f"… mean of {TIMES} seeds, ms", digits=0, smaller_is_better=True)

_TESTS = f"""\
import asyncio
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

@pytest.mark.parametrize("number", range({TESTS}))
def test_round_trip(kafka, number):
    kafka.topic("orders").create()  # on demand aiokafka would wait 100 ms for it
    async def round_trip():
        async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer:
            await producer.send_and_wait("orders", b"soup")
        consumer = AIOKafkaConsumer("orders", bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest")
        async with consumer:
            assert (await consumer.getone()).value == b"soup"
    asyncio.run(round_trip())
"""


def measure(broker: Peer, seconds: float) -> Values:
    if broker.peer != "ottla":
        raise UnableError("it can't be had within a test")
    start_ms, stop_ms = _start_and_stop()
    many_s, many_cpu_s = _many_tests()
    return {
        START.title: start_ms,
        STOP.title: stop_ms,
        MANY.title: many_s,
        MANY_CPU.title: many_cpu_s,
        **_state(),
        EXPIRY.title: _expiry(),
        **_simulated(),
    }


def _start_and_stop() -> tuple[float, float]:
    starts, stops = [], []
    for _ in range(TIMES):
        broker = Broker()
        starts.append(_took_ms(broker.start))
        stops.append(_took_ms(broker.stop))
    return min(starts), min(stops)


def _many_tests() -> tuple[float, float]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_many.py").write_text(_TESTS)
        took_ms = _took_ms(
            lambda: subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_many.py"],
                cwd=folder,
                check=True,
                stdout=subprocess.DEVNULL,
            )
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took_ms / 1e3, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _state() -> dict[str, float]:
    """Of a broker with topics, records, and what a group has committed."""
    resets, restores, forks = [], [], []
    others: list[Broker] = []
    with Broker() as kafka:
        for number in range(TOPICS):
            for _ in range(10):
                kafka.topic(f"topic-{number}").produce(*["x" * 100] * (RECORDS // TOPICS // 10))
        kafka.group("kitchen").commit("topic-0", 0, 7)
        taken = kafka.snapshot()
        for _ in range(TIMES):
            restores.append(_took_ms(lambda: kafka.restore(kafka.snapshot())))
            forks.append(_took_ms(lambda: others.append(kafka.fork().start())))
            others.pop().stop()
            resets.append(_took_ms(kafka.reset))
            kafka.restore(taken)
    return {RESET.title: min(resets), RESTORE.title: min(restores), FORK.title: min(forks)}


def _expiry() -> float:
    """From when time begins to be moved until the consumer says that its partitions are lost."""
    with Broker(clock="virtual") as kafka:
        kafka.topic("orders").create()
        consumer = Consumer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "group.id": "kitchen",
                "session.timeout.ms": SESSION_TIMEOUT_MS,
                "heartbeat.interval.ms": 50,
            }
        )
        lost = threading.Event()
        consumer.subscribe(["orders"], on_lost=lambda _consumer, _partitions: lost.set())
        while kafka.group("kitchen").state != "Stable" or not consumer.assignment():
            consumer.poll(0.01)
        began = time.perf_counter()
        kafka.advance(SESSION_TIMEOUT_MS)
        while not lost.is_set():
            consumer.poll(0.01)
        took = time.perf_counter() - began
        consumer.close()
    return took


def _simulated() -> dict[str, float]:
    """The story of tests/testing/simulation, each time by another seed."""
    tell(0)
    took_ms = [_took_ms(partial(tell, seed)) for seed in range(1, TIMES + 1)]
    return {SIMULATED.title: min(took_ms), SIMULATED_MEAN.title: fmean(took_ms)}


def _took_ms(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3


ROWS = (START, STOP, MANY, MANY_CPU, RESET, RESTORE, FORK, EXPIRY, SIMULATED, SIMULATED_MEAN)
FIGURE = Figure("fixture", ROWS, measure)
