"""A message as comparable data: JSON values without what brokers are free to choose.

Fields at their default are left out, which keeps golden files short and loses nothing. A value the broker made up
becomes a label such as `<uuid 1>`, numbered as they appear in one script: so "the member id in the answer is the one
the first answer gave" still compares. Error messages are compared for being there, not for their wording.
"""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ottla.conformance.member_ids import UUID, MemberIds
from ottla.protocol.errors import ErrorCode
from ottla.protocol.primitives import Message

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None

_BATCH_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_BATCH_FIELDS: Final = (
    "base_offset", "length", "leader_epoch", "magic", "crc", "attributes", "last_offset_delta", "base_timestamp",
    "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "count",
)  # fmt: skip
_ERROR_NAMES: Final = {int(code): code.name for code in ErrorCode}
_PLAIN_BATCH: Final = {
    "leader_epoch": 0, "magic": 2, "attributes": 0, "producer_id": -1, "producer_epoch": -1, "base_sequence": -1,
}  # fmt: skip
_DAY_MS: Final = 86_400_000
_SHOWN_BYTES_MAX: Final = 128

#: Scripts that need a producer id of their own take one between these; all others were made by the broker.
PRODUCER_ID_OF_SCRIPTS: Final = 1 << 40
_PRODUCER_ID_OF_SCRIPTS_END: Final = 1 << 41

#: Lists whose order Kafka does not promise (it iterates a hash map, or shuffles): (message or struct, field).
UNORDERED: Final = frozenset(
    {
        ("DeleteTopicsResponse", "responses"),
        ("DescribeConfigsResponse", "results"),
        ("DescribeConfigsResult", "configs"),
        ("AlterConfigsResponse", "responses"),
        ("AlterReplicaLogDirsResponse", "results"),
        ("AlterReplicaLogDirTopicResult", "partitions"),
        ("IncrementalAlterConfigsResponse", "responses"),
        ("CreatePartitionsResponse", "results"),
        ("CreateTopicsResponse", "topics"),
        ("DeletableGroupResult", "results"),
        ("DeleteGroupsResponse", "results"),
        ("DeleteRecordsResponse", "topics"),
        ("DeleteRecordsTopicResult", "partitions"),
        ("DescribeGroupsResponse", "groups"),
        ("DescribedGroup", "members"),
        ("DescribeLogDirsResult", "topics"),
        ("DescribeLogDirsTopic", "partitions"),
        ("DescribeUserScramCredentialsResponse", "results"),
        ("JoinGroupResponse", "members"),
        ("ListGroupsResponse", "groups"),
        ("ListOffsetsResponse", "topics"),
        ("ListOffsetsTopicResponse", "partitions"),
        ("MetadataResponse", "topics"),
        ("OffsetDeleteResponse", "topics"),
        ("OffsetForLeaderEpochResponse", "topics"),
        ("OffsetForLeaderTopicResult", "partitions"),
        ("ProduceResponse", "responses"),
        ("TopicProduceResponse", "partition_responses"),
        ("AddPartitionsToTxnResponse", "results_by_transaction"),
        ("AddPartitionsToTxnResponse", "results_by_topic_v3_and_below"),
        ("AddPartitionsToTxnResult", "topic_results"),
        ("AddPartitionsToTxnTopicResult", "results_by_partition"),
        ("ListTransactionsResponse", "unknown_state_filters"),
        ("PartitionResponse", "active_producers"),
        ("TopicData", "partitions"),
        ("TransactionState", "topics"),
        ("WritableTxnMarkerResult", "topics"),
        ("WritableTxnMarkerTopicResult", "partitions"),
        ("WriteTxnMarkersResponse", "markers"),
    }
)


#: Fields that say which node, or nodes.
_NODES: Final = frozenset(
    {"broker_id", "broker_ids", "controller_id", "eligible_leader_replicas", "isr_nodes", "leader_id", "node_id",
     "replica_nodes"}
)  # fmt: skip
#: The id of the only node there is, as Kafka's answers were recorded.
NODE_ID: Final = 1


@dataclass
class Labels:
    """What one script's run has named so far: the names it chose itself, and ids in the order they appeared.

    `node_id`: of the only node there is, which shows as that of the recorded one.
    """

    host: str
    node_id: int = NODE_ID
    names: dict[str, str] = field(default_factory=dict)
    #: Producer ids that the script made up, and what they are called.
    producers: dict[int, str] = field(default_factory=dict)
    member_ids: MemberIds = field(default_factory=MemberIds)
    _seen: dict[tuple[str, object], str] = field(default_factory=dict)

    def label(self, kind: str, value: object) -> str:
        number = sum(1 for seen_kind, _ in self._seen if seen_kind == kind) + 1
        return self._seen.setdefault((kind, value), f"<{kind} {number}>")

    def known_ids(self, text: str) -> str:
        """`text` with ids that were seen before replaced, so that it has the same place among others everywhere."""
        for (kind, value), label in self._seen.items():
            if kind == "topic id":
                text = text.replace(repr(value), label)
            elif kind == "producer":
                text = text.replace(f"producer_id={value},", f"producer_id=0{label},")
        for member_id, stem in self.member_ids.stems.items():
            text = text.replace(repr(member_id), repr(f"{stem}-"))
        for producer_id, label in self.producers.items():
            text = text.replace(f"producer_id={producer_id},", f"producer_id=1{label},")
        return text

    def producer(self, producer_id: int) -> Json:
        """A label for one the broker made or the script has named, itself for others."""
        if producer_id in self.producers:
            return self.producers[producer_id]
        if producer_id < 0 or PRODUCER_ID_OF_SCRIPTS <= producer_id < _PRODUCER_ID_OF_SCRIPTS_END:
            return producer_id
        return self.label("producer", producer_id)

    def nodes(self, value: Any) -> Any:
        """Node ids, one or a list, with the recorded one in place of this broker's own."""
        if isinstance(value, list):
            return [self.nodes(one) for one in value]
        return NODE_ID if value == self.node_id else value

    def text(self, value: str) -> str:
        if value in self.member_ids.stems:
            value = f"{self.member_ids.stems[value]}-{self.label('uuid', value)}"
        for name, label in self.names.items():
            value = value.replace(name, label)
        return UUID.sub(lambda match: self.label("uuid", match.group()), value)


def comparable(message: Message, labels: Labels) -> dict[str, Json]:
    """The fields of `message` that differ from their defaults, by name, labelled."""
    defaults = _defaults(type(message))
    result: dict[str, Json] = {}
    for name in message.__slots__:
        value = getattr(message, name)
        if labels.node_id != NODE_ID and name in _NODES and getattr(message, "host", None) != "":
            value = labels.nodes(value)
        if value == defaults[name] or name == "rack":  # where a broker stands is its owner's choice
            continue
        if (type(message).__name__, name) in UNORDERED:
            value = sorted(value, key=lambda item: UUID.sub("", labels.known_ids(repr(item))))
        if name == "records":
            is_request = type(message).__name__ == "PartitionProduceData"
            shown: Json = _sent_records(value) if is_request else _stored_batches(value, labels)
        else:
            rule = _OWN_RULES.get((type(message).__qualname__, name)) or _RULES.get(name, _value)
            shown = rule(value, labels)
        result[name] = shown
    return result


def _defaults(kind: type[Message]) -> Mapping[str, object]:
    if kind not in _DEFAULTS:
        empty = kind()
        _DEFAULTS[kind] = {name: getattr(empty, name) for name in empty.__slots__}
    return _DEFAULTS[kind]


def _value(value: Any, labels: Labels) -> Json:
    match value:
        case Message():
            return comparable(value, labels)
        case list() | tuple():
            return [_value(item, labels) for item in value]
        case str():
            return labels.text(value)
        case bytes() | bytearray() | memoryview():
            return _bytes(bytes(value), labels)
        case dict():  # unknown tagged fields
            return {str(tag): data.hex() for tag, data in value.items()}
    return value  # type: ignore[no-any-return]  # what is left: numbers, None


def _bytes(value: bytes, labels: Labels) -> Json:
    text = value.decode("ascii", "replace")
    return labels.text(text) if text.isprintable() and len(text) <= _SHOWN_BYTES_MAX else _hex(value)


def _hex(value: bytes) -> str:
    """In hex; of long ones the beginning and a checksum."""
    if len(value) <= _SHOWN_BYTES_MAX:
        return f"0x{value.hex()}"
    return f"0x{value[:16].hex()}… {len(value)} bytes, crc {zlib.crc32(value):08x}"


def _sent_records(value: bytes | None) -> Json:
    """What is sent stands in the script, and may have the time of day in it."""
    return None if value is None else f"{len(value)} bytes"


def _stored_batches(value: bytes | None, labels: Labels) -> Json:
    """Fetched batches one by one: what a header has beyond a plain batch's, then the records as they are.

    Kafka's Fetch may end in a batch cut off at the size limit, which clients drop: it is not shown.
    """
    if value is None:
        return None
    result: list[Json] = []
    data = bytes(value)
    while len(data) >= _BATCH_HEADER.size:
        header = dict(zip(_BATCH_FIELDS, _BATCH_HEADER.unpack_from(data), strict=True))
        end = max(12 + header["length"], _BATCH_HEADER.size)  # a length that lies must not keep us here
        shown: dict[str, Json] = {
            name: _timestamp(number, labels) if "timestamp" in name else number
            for name, number in header.items()
            if _PLAIN_BATCH.get(name) != number
        }
        if header["producer_id"] >= 0:
            shown["producer_id"] = _producer_id(header["producer_id"], labels)
        if shown["max_timestamp"] == "<now>" or str(shown.get("producer_id")).startswith("<"):
            del shown["crc"]
        shown["records"] = _hex(data[_BATCH_HEADER.size : end])
        result.append(shown)
        data = data[end:]
    return result


def _timestamp(value: int, labels: Labels) -> Json:
    return "<now>" if abs(value - time.time() * 1000) < _DAY_MS else value


def _error(value: int, labels: Labels) -> Json:
    return _ERROR_NAMES.get(value, value)


def _producer_id(value: int, labels: Labels) -> Json:
    return labels.producer(value)


def _made_up(kind: str) -> Callable[[Any, Labels], Json]:
    return lambda value, labels: labels.label(kind, value)


def _opaque(kind: str) -> Callable[[Any, Labels], Json]:
    return lambda value, labels: value if value in (None, "", "NONE", -1) else f"<{kind}>"


def _cluster(value: str | None, labels: Labels) -> Json:
    """By the label a script gave to the broker's own."""
    return labels.names.get(value or "") or _opaque("cluster")(value, labels)


def _host(value: str, labels: Labels) -> Json:
    return "<host>" if value == labels.host else value


_DEFAULTS: Final[dict[type[Message], Mapping[str, object]]] = {}

#: Fields that have a meaning which decides how they compare.
_RULES: Final[Mapping[str, Callable[[Any, Labels], Json]]] = {
    "cluster_id": _cluster,
    "commit_timestamp": _timestamp,
    "documentation": _opaque("text"),
    "error_code": _error,
    "finalized_features_epoch": _opaque("epoch"),
    "error_message": _opaque("text"),
    "batch_index_error_message": _opaque("text"),
    "host": _host,
    "last_caught_up_timestamp": _timestamp,
    "last_fetch_timestamp": _timestamp,
    "last_timestamp": _timestamp,
    "log_append_time_ms": _timestamp,
    "log_dir": _opaque("directory"),
    "port": _opaque("port"),
    "partition_error_code": _error,
    "producer_id": _producer_id,
    "producer_id_filters": lambda value, labels: [_producer_id(one, labels) for one in value],
    "replica_directory_id": _made_up("directory id"),
    "session_id": _made_up("session"),
    "timestamp": _timestamp,
    "topic_id": _made_up("topic id"),
    "total_bytes": _opaque("bytes"),
    "v3_and_below_producer_id": _producer_id,
    "transaction_start_time_ms": _timestamp,
    "usable_bytes": _opaque("bytes"),
}

#: The same for fields that have another meaning elsewhere: (message or struct, field).
_OWN_RULES: Final[Mapping[tuple[str, str], Callable[[Any, Labels], Json]]] = {
    # They grow by themselves.
    ("DescribeQuorumResponse.PartitionData", "high_watermark"): _opaque("offset"),
    ("DescribeQuorumResponse.ReplicaState", "log_end_offset"): _opaque("offset"),
}
