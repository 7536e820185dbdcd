"""Sending records from Spark's tasks, each with a producer of its own.

Spark's own sink gives records the time of the write, and says nothing until the end. Here a task gets records as Arrow
batches and hands them to confluent-kafka, whose producer is idempotent: in order within a partition, and a retry on the
wire doubles nothing. A task that Spark repeats would double its records; the caller has to prevent that.

Executors import these modules: the package is installed there, or comes with --py-files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ottla.pipeline.address import ClusterAddress

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

#: What of `to send` (transforms/records.py) goes to the tasks.
COLUMNS: Final = ("partition", "key", "value", "headers", "timestamp_ms")
_SENT_SCHEMA: Final = "rows bigint, bytes bigint"
#: librdkafka's maximum, so that the broker's limit decides.
_MESSAGE_BYTES_MAX: Final = 1_000_000_000
_PRODUCER: Final = {
    "delivery.report.only.error": True,
    "enable.idempotence": True,
    #: After a refused record nothing more is sent, so a partition has the records up to it without a gap.
    "enable.gapless.guarantee": True,
    "batch.size": 1_000_000,
    "message.max.bytes": _MESSAGE_BYTES_MAX,
    #: By the key as the Java client does it; without one, anywhere.
    "partitioner": "murmur2_random",
}
_LINGER_MS: Final = 20
_QUEUE_FULL_SECONDS: Final = 0.1
_POLL_SECONDS: Final = 1.0
_ANY_PARTITION: Final = -1

Batches: TypeAlias = "Iterable[pyarrow.RecordBatch]"


class NotSentError(Exception):
    """A broker or the client refused a record; the text says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"cannot send: {reason}")


def sent(records: DataFrame, address: ClusterAddress, topic: str) -> DataFrame:
    """Send records (`to send`) when the result is asked for: rows and bytes, a line for each task.

    Records of a partition go in the order they have within a task.
    """
    return records.select(*COLUMNS).mapInArrow(_send_all(address, topic), _SENT_SCHEMA)


def _send_all(address: ClusterAddress, topic: str) -> Callable[[Batches], Batches]:
    def send_all(batches: Batches) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        rows, size = send(batches, address, topic)
        yield pyarrow.RecordBatch.from_pydict({"rows": [rows], "bytes": [size]})

    return send_all


def send(batches: Batches, address: ClusterAddress, topic: str, *, linger_ms: int = _LINGER_MS) -> tuple[int, int]:
    """Send a task's records (`to send`, and any columns more) and wait until a broker has them all.

    Returns rows and bytes. `linger_ms` is how long a record may wait for others to go with.
    """
    from confluent_kafka import KafkaException, Producer

    failures: list[str] = []

    def told(error: Any, _message: Any) -> None:
        failures.append(error.str())

    producer = Producer(
        {**_PRODUCER, **address.for_librdkafka(), "client.id": "ottla-pipeline", "linger.ms": linger_ms}
    )
    rows = size = 0
    try:
        for batch in batches:
            for record in zip(*(batch.column(name).to_pylist() for name in COLUMNS), strict=True):
                size += _produce(producer, topic, record, told)
            rows += batch.num_rows
            producer.poll(0)
            _raise_first(failures, topic)
        #: Not `flush`: it would raise a fatal error after other callbacks were called, which Python does not allow.
        while len(producer):
            producer.poll(_POLL_SECONDS)
            _raise_first(failures, topic)
    except KafkaException as error:
        _raise_first([error.args[0].str()], topic)
    _raise_first(failures, topic)
    return rows, size


def _produce(producer: Any, topic: str, record: tuple[Any, ...], told: Callable[[Any, Any], None]) -> int:
    """Hand over a record, waiting while the queue is full; returns how long key and value are."""
    partition, key, value, headers, timestamp_ms = record
    arguments: dict[str, Any] = {"value": value, "key": key, "on_delivery": told}
    arguments["partition"] = _ANY_PARTITION if partition is None else partition
    if headers is not None:
        arguments["headers"] = [(header["key"], header["value"]) for header in headers]
    if timestamp_ms is not None:
        if timestamp_ms <= 0:
            raise NotSentError(f"a record has the time {timestamp_ms} ms; it must be after 1970-01-01")
        arguments["timestamp"] = timestamp_ms
    while True:
        try:
            producer.produce(topic, **arguments)
        except BufferError:
            producer.poll(_QUEUE_FULL_SECONDS)
        else:
            return len(key or b"") + len(value or b"")


def _raise_first(failures: list[str], topic: str) -> None:
    if failures:
        raise NotSentError(f"{topic} did not take a record, {failures[0]}")
