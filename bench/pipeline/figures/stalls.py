"""How long clients wait at most while Spark reads: nothing should stall.

A member beats, a producer waits for each record's answer, and a group rebalances over and over, as a second member
comes and goes: at first alone, then while Spark reads a topic again and again with both cores. The longest wait counts,
the scheduler's share in it included; what Spark adds is the difference.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from confluent_kafka import Consumer, Producer

from bench.broker import Broker
from bench.figures.figure import Row, Values
from bench.members import fresh_name, stable_members
from bench.pipeline.figures import read
from bench.pipeline.stage import PipelineFigure, Stage
from bench.pipeline.topic import RECORDS, fill
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from tests.support.client import Client

SECONDS: Final = 20.0
_HEARTBEAT_VERSION: Final = 3
_PAUSE_SECONDS: Final = 0.005
_WAIT_SECONDS_MAX: Final = 60.0
_GROUP: Final = "bench-comes-and-goes"
_KINDS: Final = ("heartbeat", "produce", "rebalance")
_TITLE: Final = "longest {}, ms, {}"
_ALONE: Final = "without Spark"
_READING: Final = "while Spark reads"


def measure(stage: Stage) -> Values:
    fill(stage.bootstrap, read.TOPIC, records := stage.many(RECORDS))
    read.read_and_aggregate(stage.spark, stage.bootstrap, records)  # warms Spark up
    seconds = SECONDS * min(1.0, max(stage.scale, 0.1))
    with _watching(stage.bootstrap) as alone:
        time.sleep(seconds)
    with _watching(stage.bootstrap) as reading:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            read.read_and_aggregate(stage.spark, stage.bootstrap, records)
    return {
        _TITLE.format(kind, when): waits[kind] * 1000
        for when, waits in ((_ALONE, alone), (_READING, reading))
        for kind in _KINDS
    }


@contextmanager
def _watching(bootstrap: str) -> Iterator[dict[str, float]]:
    """Clients at work for the length of the `with`; afterwards the longest wait of each kind, in seconds."""
    longest = dict.fromkeys(_KINDS, 0.0)
    failures: list[BaseException] = []
    is_over = threading.Event()

    def watch(kind: str, once: Callable[[], None]) -> None:
        try:
            while not is_over.wait(_PAUSE_SECONDS):
                started = time.perf_counter()
                once()
                longest[kind] = max(longest[kind], time.perf_counter() - started)
        except BaseException as failure:
            failures.append(failure)

    with ExitStack() as stack:
        beat, send, come_and_go = _beating(stack, bootstrap), _producing(bootstrap), _coming_and_going(stack, bootstrap)
        threads = [
            threading.Thread(target=watch, args=(kind, once), daemon=True)
            for kind, once in zip(_KINDS, (beat, send, come_and_go), strict=True)
        ]
        for thread in threads:
            thread.start()
        try:
            yield longest
        finally:
            is_over.set()
            for thread in threads:
                thread.join()
    if failures:
        raise failures[0]
    assert all(longest.values()), "each of them has waited for something"


def _beating(stack: ExitStack, bootstrap: str) -> Callable[[], None]:
    group = fresh_name("beat")
    [(member_id, generation_id)] = stable_members(Broker("ottla", bootstrap), [group])
    client = stack.enter_context(Client(bootstrap, timeout_seconds=_WAIT_SECONDS_MAX))
    request = HeartbeatRequest(group, generation_id, member_id)

    def beat() -> None:
        assert client.ask(request, _HEARTBEAT_VERSION).error_code == 0

    return beat


def _producing(bootstrap: str) -> Callable[[], None]:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    producer.produce("bench-produced", b"first, which makes the topic")
    producer.flush(_WAIT_SECONDS_MAX)

    def send() -> None:
        producer.produce("bench-produced", b"x" * 100)
        assert producer.flush(_WAIT_SECONDS_MAX) == 0

    return send


def _coming_and_going(stack: ExitStack, bootstrap: str) -> Callable[[], None]:
    """A group of two of which one comes and goes; what is waited for is its first assignment."""
    config = {"bootstrap.servers": bootstrap, "group.id": _GROUP, "heartbeat.interval.ms": 50}
    stays = Consumer(config)
    stack.callback(stays.close)
    stays.subscribe([read.TOPIC])

    def come_and_go() -> None:
        comes = Consumer(config)
        comes.subscribe([read.TOPIC])
        until = time.monotonic() + _WAIT_SECONDS_MAX
        while not comes.assignment():
            assert time.monotonic() < until, "it got no assignment"
            comes.poll(_PAUSE_SECONDS)
            stays.poll(0)
        comes.close()

    return come_and_go


FIGURE: Final = PipelineFigure(
    "stalls",
    [
        Row(
            _TITLE.format(kind, when),
            digits=1,
            smaller_is_better=True,
            goal="nothing stalls" if when == _READING else "",
        )
        for kind in _KINDS
        for when in (_ALONE, _READING)
    ],
    measure,
)
