"""What happened, for people: a sentence for each kind of event that a timeline is mostly about.

Kinds without one are told by their name and details, so that what comes later is shown, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ottla.events.kind import Kind

if TYPE_CHECKING:
    from ottla.events.stream import Event

Details = Mapping[str, Any]

#: What of a member id tells members apart well enough: the client's id and the first of a random uuid.
_LONG_ID: Final = re.compile(r"(-[0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")


def shortened(text: str) -> str:
    """A text with the random parts of member ids cut down."""
    return _LONG_ID.sub(r"\1", text)


def sentence(event: Event) -> str:
    """What happened, without when, and in which group, and to which member."""
    told = _SENTENCES.get(event.kind)
    if told is not None:
        return shortened(told(event.details))
    rest = {key: value for key, value in event.details.items() if key not in ("group_id", "member_id")}
    return shortened(" ".join([event.kind.value, *(f"{key}={value}" for key, value in rest.items())]))


def _said(details: Details) -> str:
    """What a member gave as its reason."""
    return f' ("{details["reason"]}")' if details.get("reason") else ""


def _by_leader(details: Details) -> str:
    """Which member has assigned, in kinds of groups in which one does."""
    return f" by {details['leader']}" if "leader" in details else ""


def _since_start(details: Details) -> str:
    """How long a rebalance has taken."""
    return f"; {details['duration_ms']} ms after the start" if "duration_ms" in details else ""


def _client(details: Details) -> str:
    instance = f", instance {details['group_instance_id']}" if details.get("group_instance_id") else ""
    return f"{details.get('client_id')} at {details.get('client_host')}{instance}"


def _peer(details: Details) -> str:
    return f"{details['client_host']}:{details['client_port']} on {details['listener']}"


def _hit(details: Details) -> str:
    """What a fault has happened to."""
    place = f"{details['topic']}-{details['partition']}" if "partition" in details else details.get("topic", "")
    if "api" not in details:
        return place or ("an append" if "group_id" in details else "a connection")
    return f"{details['api']} of {details['client_id']}{f', {place}' if place else ''}"


def _void(details: Details) -> str:
    return ", void by then," if details.get("is_void") else ""


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


_SENTENCES: Final[Mapping[Kind, Callable[[Details], str]]] = {
    Kind.GROUP_REBALANCE_STARTED: lambda d: f"rebalance started: {d['cause']}{_said(d)}",
    Kind.GROUP_DELAY_BEGUN: lambda d: f"waits {d['delay_ms']} ms for more members",
    Kind.GROUP_REBALANCE_JOINED: lambda d: (
        f"generation {d['generation_id']}: {_count(d['members'], 'member')}, leader {d.get('leader')}, "
        f"{d.get('protocol_name')}{_since_start(d)}"
    ),
    Kind.GROUP_REBALANCE_COMPLETED: lambda d: (
        f"generation {d['generation_id']} is assigned{_by_leader(d)}{_since_start(d)}"
    ),
    Kind.GROUP_REBALANCE_STUCK: lambda d: f"stuck: {_count(d['members'], 'member')} without a protocol in common",
    Kind.GROUP_EMPTIED: lambda d: f"generation {d['generation_id']}: no members left",
    Kind.GROUP_MEMBER_ID_HANDED_OUT: lambda d: f"told its member id: {_client(d)}",
    Kind.GROUP_MEMBER_JOINED: lambda d: f"joined: {_client(d)}{_said(d)}",
    Kind.GROUP_MEMBER_REJOINED: lambda d: f"rejoined{', changed' if d.get('is_changed') else ''}{_said(d)}",
    Kind.GROUP_MEMBER_REPLACED: lambda d: f"replaced {d.get('replaced_member_id')}{_said(d)}",
    Kind.GROUP_MEMBER_REMOVED: lambda d: f"removed: {d['cause']}{_said(d)}",
    Kind.GROUP_JOIN_REFUSED: lambda d: f"JoinGroup refused: {d['error']}, to {_client(d)}",
    Kind.GROUP_CREATED: lambda d: f"created by a {d.get('cause')}",
    Kind.GROUP_DELETED: lambda d: f"deleted: {d.get('cause')}",
    Kind.GROUP_OFFSETS_REMOVED: lambda d: f"offsets removed of {_count(d['partitions'], 'partition')}: {d['cause']}",
    Kind.GROUP_WRITE_FAILED: lambda d: f"{d.get('what', 'group')} not written: {d.get('error')}",
    Kind.TOPIC_CREATED: lambda d: (
        f"topic {d['topic']} created, {_count(d['partitions'], 'partition')}"
        + (f", for {d['client_id']}" if d.get("client_id") else "")
    ),
    Kind.TOPIC_GROWN: lambda d: f"topic {d['topic']} has {_count(d['partitions'], 'partition')} now",
    Kind.TOPIC_DELETED: lambda d: f"topic {d['topic']} deleted",
    Kind.NODE_STOPPED: lambda d: "stopped, as if it died" if d.get("is_hard") else "stopped in order",
    Kind.NODE_MISSED: lambda _d: "fenced: others take over",
    Kind.NODE_STARTED: lambda _d: "started",
    Kind.NODES_MISSING: lambda d: (
        f"replicas of {_count(d['partitions'], 'partition')} are on missing nodes: {d['missing_nodes']}"
    ),
    Kind.NODES_WITHOUT_REPLICAS: lambda d: f"no topic of the data directory has replicas on nodes {d['idle_nodes']}",
    Kind.LEADERS_MOVED: lambda d: f"another leader for {_count(d['partitions'], 'partition')}",
    Kind.PARTITIONS_IN_SYNC: lambda d: f"more replicas in sync for {_count(d['partitions'], 'partition')}",
    Kind.PARTITION_LEADER_CHANGED: lambda d: f"{d['topic']}-{d['partition']} is led by {d['leader_id']}",
    Kind.REPLICAS_MOVED: lambda d: f"other replicas for {_count(d['partitions'], 'partition')}",
    Kind.PARTITION_REASSIGNED: lambda d: f"{d['topic']}-{d['partition']} is on nodes {d['replicas']}",
    Kind.CONNECTION_OPENED: lambda d: f"connected: {_peer(d)}",
    Kind.CONNECTION_CLOSED: lambda d: f"disconnected: {_peer(d)}",
    Kind.CONNECTION_FOREIGN: lambda d: f"connection of {d['client_host']} refused: {d['reason']}",
    Kind.CONNECTION_REFUSED: lambda d: f"connection of {d['client_host']} refused: {d['reason']}",
    Kind.FAULT_SET: lambda d: f"fault {d['fault_id']} set: {d['fault']}",
    Kind.FAULT_HIT: lambda d: f"fault {d['fault_id']} hit {_hit(d)}: {d['fault']}",
    Kind.FAULT_REMOVED: lambda d: f"fault {d['fault_id']} removed; it happened {_count(d['hits'], 'time')}",
    Kind.REQUEST_HELD: lambda d: f"{d['api']} of {d['client_id']} held at the {d['at']} by fault {d['fault_id']}",
    Kind.REQUEST_LET_GO: lambda d: f"{d['api']} of {d['client_id']} {d['how']} by fault {d['fault_id']}",
    Kind.APPEND_HELD: lambda d: f"append held by fault {d['fault_id']}",
    Kind.APPEND_LET_GO: lambda d: f"append {d['how']} by fault {d['fault_id']}",
    Kind.DEADLINE_HELD: lambda d: f"{d['deadline']} held when it was due, by fault {d['fault_id']}",
    Kind.DEADLINE_LET_GO: lambda d: f"{d['deadline']} {d['how']}{_void(d)} by fault {d['fault_id']}",
    Kind.TIME_ADVANCED: lambda d: f"time moved by {d['ms']} ms",
}
