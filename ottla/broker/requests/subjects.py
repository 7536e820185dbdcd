"""What a request is about: its groups, members, topics, partitions, transactions and producers.

The words are found by the names of the fields in Kafka's schemas, which are the same in all of them but for a few, so
every API can be aimed at. What depends on more than the request is looked up here as well: the topic of an id, the
partitions that a fetch session remembers, who leads a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ottla.protocol.primitives import ZERO_UUID, Message

if TYPE_CHECKING:
    from ottla.broker.network.call import Call
    from ottla.broker.node.broker_node import BrokerNode

#: The attributes that lead to a value; arrays on the way are walked through.
Path: TypeAlias = tuple[str, ...]

_WORDS: Final[Mapping[str, frozenset[str]]] = {
    "group": frozenset({"group_id"}),
    "member": frozenset({"member_id"}),
    "instance": frozenset({"group_instance_id"}),
    "transactional_id": frozenset({"transactional_id", "v3_and_below_transactional_id"}),
    "producer_id": frozenset({"producer_id", "v3_and_below_producer_id"}),
}
#: Where a schema calls it otherwise.
_ODD_WORDS: Final[Mapping[tuple[str, str], str]] = {
    ("DescribeGroupsRequest", "groups"): "group",
    ("DeleteGroupsRequest", "groups_names"): "group",
    ("DescribeTransactionsRequest", "transactional_ids"): "transactional_id",
}
#: What the leader sends for the others does not make the request theirs.
_NOT_WALKED: Final = frozenset({"assignments"})

_TOPICS: Final = frozenset({"topics", "topic_data", "topic_names", "v3_and_below_topics", "topic_partitions"})
_PARTITIONS: Final = frozenset({"partitions", "partition_data", "partition_indexes"})
_TOPIC_NAMES: Final = ("name", "topic")
_INDEXES: Final = ("index", "partition", "partition_index")

_GROUP_KEY: Final = 0
_TRANSACTION_KEY: Final = 1
#: Where the header of a batch has its producer.
_PRODUCER_ID_AT: Final = 43
_PRODUCER_ID: Final = Struct(">q")


class Shape(NamedTuple):
    """What can be aimed at in the requests of one API."""

    paths: Mapping[str, tuple[Path, ...]]
    has_topics: bool
    has_partitions: bool

    @property
    def words(self) -> list[str]:
        """All of it, as an aim calls it."""
        more = [("topic", self.has_topics), ("partition", self.has_partitions), ("role", "member" in self.paths)]
        return [*self.paths, *(word for word, is_there in more if is_there)]


def shape_of(request: type[Message]) -> Shape:
    """What requests of this class name."""
    shape = _SHAPES.get(request)
    if shape is None:
        shape = _SHAPES[request] = _shape_of(request)
    return shape


#: Those that were asked for so far.
_SHAPES: Final[dict[type[Message], Shape]] = {}


def _shape_of(request: type[Message]) -> Shape:
    paths: dict[str, list[Path]] = {}
    kinds: set[str] = set()
    _look(request, request, (), paths, kinds)
    if request.__name__ == "FindCoordinatorRequest":
        paths["group"] = paths["transactional_id"] = [("key",), ("coordinator_keys",)]
    elif request.__name__ == "MetadataRequest":
        kinds.add("partitions")  # which the answer has
    elif request.__name__ == "ProduceRequest":
        paths["producer_id"] = [("topic_data", "partition_data", "records")]
    return Shape({word: tuple(found) for word, found in paths.items()}, "topics" in kinds, "partitions" in kinds)


def _look(of: type[Message], root: type[Message], path: Path, paths: dict[str, list[Path]], kinds: set[str]) -> None:
    for entry in of.LAYOUT:
        name, kind, *_ = entry.split()
        if name in _NOT_WALKED:
            continue
        word = _ODD_WORDS.get((of.__name__, name)) or next((w for w, names in _WORDS.items() if name in names), None)
        if word is not None:
            paths.setdefault(word, []).append((*path, name))
        if name in _TOPICS and kind.startswith("[]"):
            kinds.add("topics")
        elif name in _PARTITIONS and "topics" in kinds:
            kinds.add("partitions")
        part = getattr(root, kind.removeprefix("[]"), None)
        if isinstance(part, type) and issubclass(part, Message):
            _look(part, root, (*path, name), paths, kinds)


def values(call: Call, word: str) -> Iterator[Any]:
    """What the request says under this word, "" and None left out."""
    request: Any = call.request
    key_type = _TRANSACTION_KEY if word == "transactional_id" else _GROUP_KEY
    if request.__class__.__name__ == "FindCoordinatorRequest" and request.key_type != key_type:
        return
    for path in shape_of(type(request)).paths.get(word, ()):
        for found in _at(request, path):
            value = _producer_of(found) if word == "producer_id" and not isinstance(found, int) else found
            if value not in ("", None):
                yield value


def _at(value: Any, path: Path) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _at(item, path)
    elif path:
        yield from _at(getattr(value, path[0]), path[1:])
    else:
        yield value


def _producer_of(records: Any) -> int | None:
    is_batch = records is not None and len(records) >= _PRODUCER_ID_AT + _PRODUCER_ID.size
    return int(_PRODUCER_ID.unpack_from(records, _PRODUCER_ID_AT)[0]) if is_batch else None


def is_topics(name: str) -> bool:
    """Whether a field of a request lists topics."""
    return name in _TOPICS


def is_partitions(name: str) -> bool:
    """Whether a field of a topic in a request lists partitions."""
    return name in _PARTITIONS


def topic_name(topic: Any, node: BrokerNode) -> str:
    """The name of a listed topic, be it by id; "" if nobody has that id."""
    if isinstance(topic, str):
        return topic
    name = next((getattr(topic, word) for word in _TOPIC_NAMES if hasattr(topic, word)), None)
    if name:
        return str(name)
    known = node.cluster.topics_by_id.get(getattr(topic, "topic_id", ZERO_UUID))
    return "" if known is None else known.name


def partition_index(partition: Any) -> int:
    """The number of a listed partition."""
    if isinstance(partition, int):
        return partition
    return int(next(getattr(partition, word) for word in _INDEXES if hasattr(partition, word)))


def topics(call: Call) -> Iterator[tuple[str, int | None]]:
    """The topics and partitions that a request is about; None: the topic as such. A fetch is about those of its
    session, too, and metadata of all topics about all.
    """
    request: Any = call.request
    node = call.node
    yield from _listed(request, node)
    if request.__class__.__name__ == "FetchRequest":
        session = node.fetch_sessions.get(request.session_id)
        for partition in () if session is None else session.partitions.values():
            yield partition.topic or "", partition.index
    elif asks_for_all_topics(call):
        yield from ((name, None) for name in node.cluster.topics)


def asks_for_all_topics(call: Call) -> bool:
    """Whether these are metadata of whatever there is."""
    request: Any = call.request
    if request.__class__.__name__ != "MetadataRequest":
        return False
    return request.topics is None or (call.api_version == 0 and not request.topics)


def _listed(message: Message, node: BrokerNode) -> Iterator[tuple[str, int | None]]:
    for name in message.__slots__:
        items = getattr(message, name)
        if not isinstance(items, list) or name in _NOT_WALKED:
            continue
        if is_topics(name):
            for topic in items:
                yield from _of_topic(topic, topic_name(topic, node))
        else:
            for item in items:
                if isinstance(item, Message):
                    yield from _listed(item, node)


def _of_topic(topic: Any, name: str) -> Iterable[tuple[str, int | None]]:
    fields = topic.__slots__ if isinstance(topic, Message) else ()
    for field in fields:
        if is_partitions(field):
            return [(name, partition_index(partition)) for partition in getattr(topic, field)]
    return [(name, None)]


def is_leader(call: Call) -> bool:
    """Whether the request comes from the leader of its group."""
    group_ids, member_ids = set(values(call, "group")), set(values(call, "member"))
    if not group_ids or not member_ids:
        return False
    return any(group.group_id in group_ids and group.leader_id in member_ids for group in call.node.coordinator.groups)
