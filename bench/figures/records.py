"""Produce and Fetch of record batches over raw frames: the broker alone, no client library in between.

Batches of 16 KiB to the byte, uncompressed, acks=all, on one connection with 4 in flight, 256 MiB a run; once with 16
records of some 1,000 bytes in a batch and once with 160 of some 100, for a broker that looks at each record pays by the
record. Then the first of the two logs is fetched from its beginning to its end, in answers of 1 MiB, 2 in flight.
"""

from __future__ import annotations

import time

from bench.broker import Broker, UnableError
from bench.figures.figure import Figure, Row, Values
from bench.frames import answer_frame, request_frame
from bench.load import Load, Stream, run_load
from bench.members import create_topic, delete_topic, fresh_name
from ottla.protocol.messages.fetch import FetchRequest, FetchResponse
from ottla.protocol.messages.produce import ProduceRequest, ProduceResponse
from tests.support.batches import batch
from tests.support.client import Client

PRODUCE, FETCH = 7, 11
BATCH_BYTES = 16 * 1024
ANSWER_BYTES = 1 << 20
RUN_BYTES = 256 << 20
BATCHES = RUN_BYTES // BATCH_BYTES
BATCHES_PER_ANSWER = ANSWER_BYTES // BATCH_BYTES

FEW = Row("produce MB/s, 16 KiB batches of 16 records", goal="≥ 1.7 × kfake, ≥ 2 × Kafka")
FEW_CPU = Row("… CPU µs per batch of 16", smaller_is_better=True)
MANY = Row("produce MB/s, 16 KiB batches of 160 records")
MANY_CPU = Row("… CPU µs per batch of 160", smaller_is_better=True)
FETCHED = Row("fetch MB/s, 1 MiB answers", goal="≥ 2.5 × kfake, ≥ 0.9 × Kafka")
FETCHED_CPU = Row("… CPU µs per answer", smaller_is_better=True)


def batch_of(records: int) -> bytes:
    """A batch of exactly `BATCH_BYTES`: equal records of this moment, for retention would take old ones before they are
    fetched; the last one stretched to fit."""
    now_ms = int(time.time() * 1000)
    value_bytes = BATCH_BYTES // records - 20
    values = [bytes([65 + index % 26]) * value_bytes for index in range(records)]
    while len(data := batch([(None, value) for value in values], base_timestamp=now_ms)) != BATCH_BYTES:
        values[-1] = values[-1][:1] * (len(values[-1]) + BATCH_BYTES - len(data))
    return data


def measure(broker: Broker, seconds: float) -> Values:
    topics = [fresh_name("few"), fresh_name("many")]
    for topic in topics:
        if not broker.is_echo:
            create_topic(broker, topic)
    few = produce(broker, topics[0], batch_of(16))
    many = produce(broker, topics[1], batch_of(160))
    fetched = None if broker.peer == "mock" else _fetch(broker, topics[0], records_per_batch=16)  # it keeps 5 MB
    if not broker.is_echo:
        for topic in topics:
            delete_topic(broker, topic)
    return {
        FEW.title: RUN_BYTES / few.seconds / 1e6,
        FEW_CPU.title: few.cpu_us_per_request,
        MANY.title: RUN_BYTES / many.seconds / 1e6,
        MANY_CPU.title: many.cpu_us_per_request,
        FETCHED.title: None if fetched is None else fetched.bytes_received / fetched.seconds / 1e6,
        FETCHED_CPU.title: None if fetched is None else fetched.cpu_us_per_request,
    }


def produce_request(topic: str, data: bytes) -> ProduceRequest:
    partition = ProduceRequest.PartitionProduceData(index=0, records=data)
    topic_data = ProduceRequest.TopicProduceData(name=topic, partition_data=[partition])
    return ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic_data])


def fetch_request(topic: str, offset: int) -> FetchRequest:
    """For an answer of `ANSWER_BYTES`."""
    partition = FetchRequest.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=ANSWER_BYTES)
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=ANSWER_BYTES,
        session_epoch=-1,
        topics=[FetchRequest.FetchTopic(topic=topic, partitions=[partition])],
    )


def produce(broker: Broker, topic: str, data: bytes, *, batches: int = BATCHES) -> Load:
    """Append the batch so many times."""
    request = produce_request(topic, data)
    if not broker.is_echo:
        _until_produced(broker, request)
    answered = ProduceResponse.PartitionProduceResponse(index=0)
    answer = ProduceResponse(
        responses=[ProduceResponse.TopicProduceResponse(name=topic, partition_responses=[answered])]
    )
    stream = Stream([request_frame(request, PRODUCE)], answer_frame(answer, PRODUCE), is_exact=False)
    return run_load(broker, [stream], in_flight=4, requests=batches)


def _until_produced(broker: Broker, request: ProduceRequest) -> None:
    """Append a first batch: a broker may take a moment until it leads a topic that Metadata shows already."""
    deadline = time.monotonic() + 10
    with Client(broker.bootstrap) as client:
        while error := client.ask(request, PRODUCE).responses[0].partition_responses[0].error_code:
            if time.monotonic() > deadline:
                raise UnableError(f"a produce was answered with error {error}")
            time.sleep(0.01)


def _fetch(broker: Broker, topic: str, *, records_per_batch: int) -> Load:
    requests = [
        fetch_request(topic, number * BATCHES_PER_ANSWER * records_per_batch)
        for number in range(BATCHES // BATCHES_PER_ANSWER)
    ]
    if broker.is_echo:
        answer = answer_frame(_fetched(topic, bytes(ANSWER_BYTES)), FETCH)
    else:
        answer = b""
        with Client(broker.bootstrap) as client:
            partition = client.ask(requests[0], FETCH).responses[0].partitions[0]
            if partition.error_code or len(partition.records or b"") < ANSWER_BYTES // 2:
                raise UnableError(f"a fetch was answered with error {partition.error_code} and too few records")
    frames = [request_frame(request, FETCH) for request in requests]
    stream = Stream(frames, answer, is_exact=False, is_sized=False)
    return run_load(broker, [stream], in_flight=2, requests=len(requests) * 4)


def _fetched(topic: str, records: bytes) -> FetchResponse:
    partition = FetchResponse.PartitionData(partition_index=0, records=records)
    return FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic=topic, partitions=[partition])])


FIGURE = Figure("records", (FEW, FEW_CPU, MANY, MANY_CPU, FETCHED, FETCHED_CPU), measure)
