"""Requests and answers in parts: what a fault is aimed at, and the rest, which is served as ever.

A request is divided by its topics and partitions; the answers to both parts are put together again, each partition
under its topic. Messages are copied where they change, for others may have been given them.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, Final

from ottla.broker.requests.subjects import is_partitions, is_topics, partition_index, topic_name
from ottla.protocol.copying import changed
from ottla.protocol.primitives import Message

if TYPE_CHECKING:
    from ottla.broker.node.broker_node import BrokerNode

#: (topic, partition; None: the topic as such) -> is it aimed at?
IsAimed = Callable[[str, int | None], bool]

#: By what the items of an answer are told apart: the first of these that an item says something under.
_KEYS: Final = ("name", "topic", "topic_id", "group_id", "transactional_id")


def divide(request: Message, node: BrokerNode, is_aimed: IsAimed) -> tuple[Message | None, Message | None]:
    """(the part that is aimed at, the rest); None: there is nothing in it."""
    aimed, aimed_count = _only(request, node, is_aimed)
    rest, rest_count = _only(request, node, lambda topic, index: not is_aimed(topic, index))
    return (aimed if aimed_count else None), (rest if rest_count else None)


def _only(message: Message, node: BrokerNode, is_wanted: IsAimed) -> tuple[Message, int]:
    """A copy that has only these topics and partitions, and how many there are in it."""
    other, count = copy(message), 0
    for name in message.__slots__:
        items = getattr(message, name)
        if not isinstance(items, list) or not items:
            continue
        kept: list[Any] = items
        if is_topics(name):
            kept = [part for topic in items if (part := _of_topic(topic, node, is_wanted)) is not None]
            count += len(kept)
        elif isinstance(items[0], Message) and _has_topics(items[0]):
            kept = []
            for item in items:
                part, part_count = _only(item, node, is_wanted)
                if part_count:
                    kept.append(part)
                    count += part_count
        setattr(other, name, kept)
    return other, count


def _has_topics(message: Message) -> bool:
    return any(is_topics(name) for name in message.__slots__)


def _of_topic(topic: Any, node: BrokerNode, is_wanted: IsAimed) -> Any:
    """The topic with only the wanted ones of its partitions; None: nothing of it."""
    name = topic_name(topic, node)
    for field in topic.__slots__ if isinstance(topic, Message) else ():
        if is_partitions(field):
            kept = [partition for partition in getattr(topic, field) if is_wanted(name, partition_index(partition))]
            return changed(topic, **{field: kept}) if kept else None
    return topic if is_wanted(name, None) else None


def joined(served: Message, refused: Message) -> Message:
    """One answer of two: what was served, and among it what was refused."""
    other = copy(served)
    for name in served.__slots__:
        ours, theirs = getattr(served, name), getattr(refused, name)
        if isinstance(ours, list) and isinstance(theirs, list):
            setattr(other, name, _joined_items(ours, theirs))
    return other


def _joined_items(ours: list[Any], theirs: list[Any]) -> list[Any]:
    both = list(ours)
    places = {key: place for place, item in enumerate(ours) if (key := _key(item)) is not None}
    for item in theirs:
        place = places.get(key) if (key := _key(item)) is not None else None
        if place is None:
            both.append(item)
        else:
            both[place] = joined(both[place], item)
    return both


def _key(item: Any) -> tuple[str, Any] | None:
    return next(((name, said) for name in _KEYS if (said := getattr(item, name, None))), None)
