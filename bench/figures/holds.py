"""How long a client waits because the broker has work of its own: ApiVersions, one every millisecond, while a compacted
topic is written and cleaned, retention removes segments and checkpoints are written, all of it all the time.

Beside that the same while records are written and nothing else is to do: what the machine and the produces come to.
On a broker of its own with short intervals, so this is for Ottla alone, in memory and on disk.
"""

from __future__ import annotations

import itertools
import tempfile
import time

from bench.broker import Broker, UnableError
from bench.figures.figure import Figure, Row, Values
from bench.members import create_topic
from bench.peers.ottla import ON_DISK, serving
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.produce import ProduceRequest
from tests.support.batches import batch
from tests.support.client import API, Client

RECORDS_PER_BATCH = 100
KEYS = 10_000
COMPACTED = {"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.01"}
REMOVED = {"retention.bytes": "1048576", "segment.bytes": "1048576"}
#: How often there is something to do, and how often as good as never.
OFTEN, SELDOM = 100, 3_600_000
INTERVALS = (
    "log.cleaner.backoff.ms",
    "log.initial.task.delay.ms",
    "log.retention.check.interval.ms",
    "log.flush.offset.checkpoint.interval.ms",
)

HELD = Row("answer p99.9 beside compaction and retention, ms", digits=2, smaller_is_better=True, goal="≤ 5")
UNHELD = Row("… without them", digits=2, smaller_is_better=True)


def measure(broker: Broker, seconds: float) -> Values:
    if broker.peer not in ("ottla", ON_DISK):
        raise UnableError("it has work of its own at times of its own")
    return {
        HELD.title: _waited_ms(broker.peer, OFTEN, seconds * 3),
        UNHELD.title: _waited_ms(broker.peer, SELDOM, seconds * 3),
    }


def _waited_ms(peer: str, interval_ms: int, seconds: float) -> float:
    """What one of a thousand answers took at least."""
    settings = [word for name in INTERVALS for word in ("--set", f"{name}={interval_ms}")]
    with tempfile.TemporaryDirectory(prefix="ottla-bench-") as directory:
        if peer == ON_DISK:
            settings += ["--data-dir", directory]
        with serving(peer, "--log-level", "error", *settings) as broker:
            create_topic(broker, "compacted", configs=COMPACTED)
            create_topic(broker, "removed", configs=REMOVED)
            waited = _ask_beside_writes(broker, seconds)
    waited.sort()
    return waited[len(waited) * 999 // 1000] * 1e3


def _writes() -> list[bytes]:
    """Bodies of Produce requests, each with a batch for both topics."""
    now_ms = int(time.time() * 1000)
    bodies = []
    for first in range(0, KEYS, RECORDS_PER_BATCH):
        keys = (first + number * 97 % KEYS for number in range(RECORDS_PER_BATCH))
        records = batch([(b"%d" % key, bytes(100)) for key in keys], base_timestamp=now_ms)
        partition = ProduceRequest.PartitionProduceData(0, records)
        topics = [
            ProduceRequest.TopicProduceData(name=name, partition_data=[partition]) for name in ("compacted", "removed")
        ]
        bodies.append(ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=topics).encode(7))
    return bodies


def _ask_beside_writes(broker: Broker, seconds: float) -> list[float]:
    """How long each answer took, with a write before it on another connection."""
    waited = []
    writes = itertools.cycle(_writes())
    end = time.perf_counter() + seconds
    with Client(broker.bootstrap) as client, Client(broker.bootstrap) as writer:
        while time.perf_counter() < end:
            writer.send_body(API["Produce"], 7, next(writes))
            asked_at = time.perf_counter()
            client.ask(ApiVersionsRequest(), 0)
            waited.append(time.perf_counter() - asked_at)
            answered = writer.receive().message.responses
            if any(topic.partition_responses[0].error_code for topic in answered):
                raise UnableError("a produce was refused")
            time.sleep(0.001)
    return waited


FIGURE = Figure("holds", (HELD, UNHELD), measure)
