"""How long single requests take beside others: the tail of a heartbeat and of a produce under a mixed load.

A process of its own keeps the broker busy, at the same pace whoever the broker is: each millisecond it produces
16 KiB, fetches 64 KiB and commits, on a connection each. Meanwhile a heartbeat and a produce of 1 KB take turns, one
at a time.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from bench.broker import Broker, UnableError
from bench.figures.commits import VERSION as COMMIT
from bench.figures.commits import commit_request
from bench.figures.figure import Figure, Row, Values
from bench.figures.records import FETCH, PRODUCE, batch_of, fetch_request, produce_request
from bench.frames import request_frame
from bench.members import create_topic, delete_topic, fresh_name, stable_members
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from tests.support.batches import batch
from tests.support.wire import Connection

HEARTBEAT: Final = 3
ROUND_SECONDS: Final = 0.001
FETCHED_BYTES: Final = 64 << 10
WARM_UP: Final = 200
MEASURES: Final = (("p50", 500), ("p99", 990), ("p99.9", 999))

BEATS = [Row(f"heartbeat {name} under mixed load, ms", 2, smaller_is_better=True) for name, _ in MEASURES]
PRODUCES = [Row(f"produce {name} under mixed load, ms", 2, smaller_is_better=True) for name, _ in MEASURES]


def measure(broker: Broker, seconds: float) -> Values:
    if broker.is_echo or broker.peer == "mock":
        raise UnableError("nothing can be read back from it")
    topic, group = fresh_name("tails"), fresh_name("tails")
    create_topic(broker, topic)
    ((member_id, generation_id),) = stable_members(broker, [group])
    beat = request_frame(HeartbeatRequest(group, generation_id, member_id), HEARTBEAT)
    produce = request_frame(produce_request(topic, batch([(None, bytes(1_000))])), PRODUCE)
    with _loaded(broker), Connection(broker.bootstrap) as beats, Connection(broker.bootstrap) as produces:
        waits_ms: tuple[list[float], list[float]] = [], []
        end = time.perf_counter() + seconds * 3
        while len(waits_ms[1]) < WARM_UP * 2 or time.perf_counter() < end:
            for connection, frame, waited in ((beats, beat, waits_ms[0]), (produces, produce, waits_ms[1])):
                asked = time.perf_counter()
                connection.send(frame)
                connection.receive_frame()
                waited.append((time.perf_counter() - asked) * 1e3)
    delete_topic(broker, topic)
    return {
        row.title: value
        for rows, waited in zip((BEATS, PRODUCES), waits_ms, strict=True)
        for row, value in zip(rows, _spread(waited[WARM_UP:]), strict=True)
    }


def _spread(waited: list[float]) -> list[float]:
    waited.sort()
    return [waited[len(waited) * per_mille // 1000] for _, per_mille in MEASURES]


@contextmanager
def _loaded(broker: Broker) -> Iterator[None]:
    """Have another process ask for all kinds of things meanwhile."""
    topic, group = fresh_name("mixed"), fresh_name("mixed")
    create_topic(broker, topic)
    ((member_id, generation_id),) = stable_members(broker, [group])
    frames = [
        request_frame(produce_request(topic, batch_of(16)), PRODUCE),
        request_frame(_small(fetch_request(topic, 0)), FETCH),
        request_frame(commit_request(topic, group, member_id, generation_id), COMMIT),
    ]
    process = multiprocessing.get_context("fork").Process(target=_ask_for_ever, args=(broker, frames), daemon=True)
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join()
        delete_topic(broker, topic)


def _small(request: FetchRequest) -> FetchRequest:
    request.max_bytes = request.topics[0].partitions[0].partition_max_bytes = FETCHED_BYTES
    return request


def _ask_for_ever(broker: Broker, frames: list[bytes]) -> None:
    with ExitStack() as open_ones:
        connections = [open_ones.enter_context(Connection(broker.bootstrap)) for _ in frames]
        while True:
            began = time.perf_counter()
            for connection, frame in zip(connections, frames, strict=True):
                connection.send(frame)
            for connection in connections:
                connection.receive_frame()
            time.sleep(max(0.0, ROUND_SECONDS - (time.perf_counter() - began)))


FIGURE = Figure("tails", (*BEATS, *PRODUCES), measure)
