"""The memory of a broker that has stored far more than it may hold: so many GB are written as fast as it goes, then 50
MB/s are written and 50 MB/s read from the beginning, for some seconds, and the most that was resident counts.

STORED_GB says how many (1); 10 are what the goal means, and take some minutes. For Ottla on disk alone.
"""

from __future__ import annotations

import os
import time
from itertools import count

from bench.broker import Broker, UnableError
from bench.figures.figure import Figure, Row, Values
from bench.figures.records import BATCH_BYTES, FETCH, PRODUCE, batch_of, fetch_request, produce, produce_request
from bench.members import create_topic, delete_topic, fresh_name
from bench.peers.ottla import ON_DISK
from tests.support.client import Client, api_of

STORED_GB = float(os.environ.get("STORED_GB") or 1)
BYTES_PER_SECOND = 50_000_000
RECORDS = 16
#: What is written, and read, before looking at the clock again.
PORTION_BATCHES = 64

RESIDENT = Row(
    f"resident MB with {STORED_GB:g} GB stored, 50 MB/s in and out", smaller_is_better=True, goal="≤ 200, with 10 GB"
)


def measure(broker: Broker, seconds: float) -> Values:
    if broker.peer != ON_DISK:
        raise UnableError("it keeps records in memory, or in a process that is not to be looked at so")
    topic = fresh_name("stored")
    create_topic(broker, topic)
    data = batch_of(RECORDS)
    batches = int(STORED_GB * 1e9) // BATCH_BYTES
    produce(broker, topic, data, batches=batches)
    resident = 0
    request = produce_request(topic, data)
    body = request.encode(PRODUCE)
    begun = time.perf_counter()
    with Client(broker.bootstrap) as writer, Client(broker.bootstrap) as reader:
        for portion in count(1):
            for _ in range(PORTION_BATCHES):
                writer.send_body(api_of(request), PRODUCE, body)
            first = portion * PORTION_BATCHES % batches * RECORDS
            fetched = reader.ask(fetch_request(topic, first), FETCH).responses[0].partitions[0]
            for _ in range(PORTION_BATCHES):
                writer.receive()
            if fetched.error_code or not fetched.records:
                raise UnableError(f"a fetch was answered with error {fetched.error_code}")
            resident = max(resident, broker.resident_bytes())
            due = begun + portion * PORTION_BATCHES * BATCH_BYTES / BYTES_PER_SECOND
            if due - begun > seconds * 3:
                break
            time.sleep(max(0.0, due - time.perf_counter()))
    delete_topic(broker, topic)
    return {RESIDENT.title: resident / 1e6}


FIGURE = Figure("stored", (RESIDENT,), measure)
