"""What is said of records that a broker does not take. That they arrive is told with the jobs that send."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import confluent_kafka
import pyarrow
import pytest

from ottla.pipeline.address import ClusterAddress
from ottla.pipeline.sender import NotSentError, send
from ottla.testing import Broker

made: list[Any] = []


class KeptProducer(confluent_kafka.Producer):
    """A producer that a test can get hold of."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        made[:] = [self]


def batch(value: bytes) -> Any:
    nothing = {"key": [None], "headers": [None], "timestamp_ms": [None]}
    return pyarrow.RecordBatch.from_pydict({"partition": [0], "value": [value], **nothing})


def produce_until_broken(producer: Any) -> None:
    """Return when it takes nothing more. Nobody has asked it for the reason yet."""
    with suppress(confluent_kafka.KafkaException):
        while True:
            with suppress(BufferError):
                producer.produce("orders", b"small")


@pytest.mark.parametrize("is_last", [True, False], ids=["waiting for the rest", "with the next record"])
def test_a_refusal_has_its_reason(kafka: Broker, monkeypatch: pytest.MonkeyPatch, is_last: bool) -> None:
    """The broker's, whenever the sender meets it: `produce` says only that there has been a fatal error."""
    monkeypatch.setattr("confluent_kafka.Producer", KeptProducer)
    kafka.topic("orders").create(configs={"max.message.bytes": "1000"})

    def batches() -> Iterator[Any]:
        yield batch(bytes(2_000))
        if not is_last:
            produce_until_broken(made[0])
            yield batch(b"small")

    with pytest.raises(NotSentError, match=r"orders did not take a record, .*Message size too large"):
        send(batches(), ClusterAddress(kafka.bootstrap_servers), "orders")
