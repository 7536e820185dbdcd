"""Any Kafka: what a job asks it before Spark starts, and how Spark reads its topics.

confluent-kafka does what the connector can't: cluster id, partitions, where logs begin and end. The connector always
gets the partitions and the offsets to read (`assign`). `subscribe` would join a group on the driver in one of the
connector's modes, and skip internal topics in the other; and a range without an end grows between two reads.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ottla.pipeline.address import ClusterAddress, read_security
from ottla.pipeline.refusals import CannotUse, CannotWork
from ottla.terminal.bootstrap import fault_of, no_answer

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient
    from pyspark.sql import DataFrame, SparkSession

#: Topic and number.
Partition: TypeAlias = tuple[str, int]

BOOTSTRAP_DEFAULT: Final = "127.0.0.1:9092"
TIMEOUT_SECONDS_DEFAULT: Final = 10.0
OFFSETS_TOPIC: Final = "__consumer_offsets"
INTERNAL_TOPICS: Final = {OFFSETS_TOPIC, "__transaction_state", "__share_group_state"}

#: In this mode of the connector, internal topics can be read. It asks for offsets with a consumer instead of an admin
#: client; with `assign` it joins no group.
_CONSUMER_OFFSETS_MODE: Final = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
_SCHEMA: Final = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int"
)
_HEADERS_SCHEMA: Final = f"{_SCHEMA}, headers array<struct<key:string,value:binary>>"

#: librdkafka's words for a broker that closes the connection during the handshake.
_NO_TLS: Final = "SSL handshake failed"
_EPOCH: Final = datetime.fromtimestamp(0, UTC)

#: For all reads of the connector. Its consumer fetches ahead, and at a log's end this fetch waits at the broker. The
#: connector's two requests about offsets wait behind it on the same connection: with Kafka's default of 500 ms, half a
#: second for every partition.
READER_OPTIONS: Final = {"kafka.fetch.max.wait.ms": "10"}

#: librdkafka would log many lines; the refusal is one.
_SILENT: Final = logging.getLogger("ottla.pipeline.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a log: from `start`, up to but without `end`."""

    start: int
    end: int

    @property
    def offsets(self) -> int:
        return max(self.end - self.start, 0)


def add_options(parser: argparse.ArgumentParser, option: str = "--bootstrap-server", what: str = "the cluster") -> None:
    """The options of a job that talks to a Kafka. A job with two clusters calls it twice; the first has --timeout."""
    parser.add_argument(
        option,
        metavar="HOST:PORT",
        default=BOOTSTRAP_DEFAULT,
        help=f"any broker of {what}, as executors reach it (default: {BOOTSTRAP_DEFAULT})",
    )
    add_command_config(parser, option)
    if "--timeout" not in parser._option_string_actions:
        parser.add_argument(
            "--timeout",
            metavar="SECONDS",
            type=float,
            default=TIMEOUT_SECONDS_DEFAULT,
            help=f"how long to wait for an answer before Spark starts (default: {TIMEOUT_SECONDS_DEFAULT:.0f})",
        )


def add_command_config(parser: argparse.ArgumentParser, option: str) -> None:
    """How to get into the cluster that this option names."""
    parser.add_argument(
        _command_config(option),
        metavar="FILE",
        type=Path,
        help=f"settings of TLS and SASL for {option}, a file as Kafka's own tools take it (default: neither)",
    )


def find(options: argparse.Namespace, option: str = "--bootstrap-server") -> KafkaCluster:
    """The cluster that this option names. Raises `Refusal`."""
    bootstrap: str = getattr(options, option.removeprefix("--").replace("-", "_"))
    file_option = _command_config(option)
    path: Path | None = getattr(options, file_option.removeprefix("--").replace("-", "_"))
    security = {} if path is None else read_security(path, file_option)
    return KafkaCluster(ClusterAddress(bootstrap, security), options.timeout, option)


def _command_config(option: str) -> str:
    return "--command-config" if option == "--bootstrap-server" else f"{option}-command-config"


class KafkaCluster:
    """A Kafka that has answered, and its topics then."""

    def __init__(self, address: ClusterAddress, timeout_seconds: float, option: str = "--bootstrap-server") -> None:
        """Ask it for its topics. Raises `Refusal`; `option` is what the user called it."""
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import AdminClient

        self.address, self.bootstrap = address, address.bootstrap
        if fault := fault_of(self.bootstrap, option, timeout_seconds):
            raise CannotUse(fault)
        self.timeout_seconds = timeout_seconds
        refusals: list[str] = []

        def told(error: KafkaError) -> None:
            if error.code() in {KafkaError._AUTHENTICATION, KafkaError._SSL} or _NO_TLS in error.str():
                refusals.append(error.str())

        settings: dict[str, Any] = {**address.for_librdkafka(), "client.id": "ottla-pipeline", "error_cb": told}
        self.admin: AdminClient = AdminClient(settings, logger=_SILENT)
        try:
            described = self.admin.list_topics(timeout=timeout_seconds)
        except KafkaException:
            self.admin.poll(0)
            if refusals:
                raise CannotWork(
                    f"{self.bootstrap} doesn't let us in: {refusals[-1]}; see {_command_config(option)}"
                ) from None
            raise CannotWork(no_answer(self.bootstrap, option)) from None
        self.cluster_id = described.cluster_id
        self.topics = {name: sorted(topic.partitions) for name, topic in described.topics.items()}
        self.leaderless: set[Partition] = {
            (name, index)
            for name, topic in described.topics.items()
            for index, partition in topic.partitions.items()
            if partition.leader < 0
        }

    def partitions(self, topics: Iterable[str]) -> list[Partition]:
        """All partitions of these topics. Raises `CannotWork` if one is missing."""
        found = []
        for topic in topics:
            if topic not in self.topics:
                raise CannotWork(f"{self.bootstrap} has no topic {topic}; `ottla topics` lists those there are")
            found += [(topic, partition) for partition in self.topics[topic]]
        return found

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]:
        """The ids of these topics, which no other topic ever had, in no cluster. Raises `CannotWork`."""
        from confluent_kafka import KafkaException, TopicCollection

        answers = self.admin.describe_topics(TopicCollection(list(topics)))
        try:
            return {topic: str(answer.result().topic_id) for topic, answer in answers.items()}
        except KafkaException as error:
            raise CannotWork(
                f"{self.bootstrap} doesn't describe its topics: {error.args[0].str()}; see what is wrong there"
            ) from None

    def spans(self, partitions: Collection[Partition], *, read_committed: bool = True) -> dict[Partition, Span]:
        """Where these logs begin and end now. Raises `CannotWork` if a leader can't be reached.

        With `read_committed` a log ends where the first open transaction begins; `read` would wait for what is beyond.
        """
        from confluent_kafka import IsolationLevel
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

        isolation = IsolationLevel.READ_COMMITTED if read_committed else IsolationLevel.READ_UNCOMMITTED
        spec: Any = OffsetSpec
        starts = self._offsets(partitions, spec.earliest(), isolation)
        ends = self._offsets(partitions, spec.latest(), isolation)
        return {partition: Span(starts[partition], ends[partition]) for partition in partitions}

    def offsets_at(self, spans: Mapping[Partition, Span], time: datetime) -> dict[Partition, int]:
        """In each log, the first offset of a record from this time on; the span's end if there is none."""
        from confluent_kafka import IsolationLevel
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

        time_ms = (time - _EPOCH) // timedelta(milliseconds=1)
        if time_ms < 0:  # a number below 0 asks a broker for something else
            return {partition: span.start for partition, span in spans.items()}
        found = self._offsets(spans.keys(), OffsetSpec.for_timestamp(time_ms), IsolationLevel.READ_COMMITTED)
        return {partition: found[partition] if found[partition] >= 0 else span.end for partition, span in spans.items()}

    def _offsets(self, partitions: Collection[Partition], spec: Any, isolation: Any) -> dict[Partition, int]:
        from confluent_kafka import KafkaException, TopicPartition

        if not partitions:
            return {}
        asked = {TopicPartition(topic, partition): spec for topic, partition in partitions}
        answers = self.admin.list_offsets(asked, isolation_level=isolation, request_timeout=self.timeout_seconds)
        try:
            return {(asked.topic, asked.partition): answer.result().offset for asked, answer in answers.items()}
        except KafkaException as error:
            raise CannotWork(
                f"{self.bootstrap} answers, but not for all its partitions ({error.args[0].str()}); "
                "let every broker be up, and advertise an address that is reached from here"
            ) from None


def read(
    spark: SparkSession,
    address: ClusterAddress,
    spans: Mapping[Partition, Span],
    *,
    read_committed: bool = True,
    with_headers: bool = False,
) -> DataFrame:
    """The records of these pieces, as Spark's connector has them: key, value, topic, partition, offset, timestamp,
    timestampType, and headers if asked for. Empty pieces cost nothing.

    Internal topics can be read. So that no other read of the session changes its mode, it is done in one of its own.
    """
    own = spark.newSession()
    asked = {partition: span for partition, span in spans.items() if span.offsets}
    if not asked:
        return own.createDataFrame([], _HEADERS_SCHEMA if with_headers else _SCHEMA)
    own.conf.set(_CONSUMER_OFFSETS_MODE, "true")
    starts: dict[str, dict[str, int]] = {}
    ends: dict[str, dict[str, int]] = {}
    for (topic, partition), span in asked.items():
        starts.setdefault(topic, {})[str(partition)] = span.start
        ends.setdefault(topic, {})[str(partition)] = span.end
    reader = own.read.format("kafka").options(
        **READER_OPTIONS,
        **address.for_connector(),
        **{
            "kafka.isolation.level": "read_committed" if read_committed else "read_uncommitted",
            "assign": json.dumps(
                {topic: [int(partition) for partition in of_topic] for topic, of_topic in ends.items()}
            ),
            "startingOffsets": json.dumps(starts),
            "endingOffsets": json.dumps(ends),
            "includeHeaders": str(with_headers).lower(),
        },
    )
    return reader.load()


def topic_stream(
    spark: SparkSession,
    address: ClusterAddress,
    partitions: Collection[Partition],
    *,
    batch_records: int,
    may_miss_records: bool = False,
) -> DataFrame:
    """All committed records of these topics, as a stream, with headers; it begins where the logs do.

    A partition that a topic gets later is read too, except among internal topics: those have to be read in the mode
    where a subscription would join a group. The mode is set in the session, so it should be of the caller's own.
    """
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    has_internal = not INTERNAL_TOPICS.isdisjoint(topics)
    spark.conf.set(_CONSUMER_OFFSETS_MODE, str(has_internal).lower())
    which = {"assign": json.dumps(topics)} if has_internal else {"subscribe": ",".join(topics)}
    reader = spark.readStream.format("kafka").options(
        **READER_OPTIONS,
        **address.for_connector(),
        **{
            "kafka.isolation.level": "read_committed",
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": str(batch_records),
            "failOnDataLoss": str(not may_miss_records).lower(),
            "includeHeaders": "true",
            **which,
        },
    )
    return reader.load()
