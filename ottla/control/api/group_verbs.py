"""What scripts can do to a group, and to who leads: the verbs of `kafka.group(...)` in a test, over HTTP.

POST /groups/expire      {"group_id": "kitchen", "member": "ana-*"}: end these sessions now
POST /groups/evict       {"group_id": "kitchen", "member": "ana-*"}: remove them as an admin does
POST /groups/rebalance   {"group_id": "kitchen"}: call all members back
POST /groups/move        {"group_id": "kitchen", "to": 2}: have another node coordinate it
POST /topics/move_leader {"topic": "orders", "partition": 0, "to": 2}: have another node lead it
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from ottla.control.api.body import read_body
from ottla.control.api.http_refused import HttpRefused
from ottla.control.changes import groups, leaders
from ottla.control.changes.topics import ChangeRefused
from ottla.control.state.groups import look_at_group
from ottla.control.state.topics import NoSuchTopic, look_at_topic

if TYPE_CHECKING:
    from ottla.control.api.route import Answer
    from ottla.control.attached.controlled_broker import ControlledBroker

_MEMBER: Final = '{"group_id": "kitchen", "member": "ana-*"}'


async def expire(broker: ControlledBroker, body: bytes) -> Answer:
    """POST /groups/expire"""
    asked = read_body(body, _MEMBER, {"group_id": str, "member": str})
    with _refusing():
        return {"member_ids": groups.expire(broker.server.services, asked["group_id"], asked["member"])}


async def evict(broker: ControlledBroker, body: bytes) -> Answer:
    """POST /groups/evict"""
    asked = read_body(body, _MEMBER, {"group_id": str, "member": str}, {"reason": str})
    with _refusing():
        ids = groups.evict(broker.server.services, asked["group_id"], asked["member"], asked.get("reason"))
        return {"member_ids": ids}


async def rebalance(broker: ControlledBroker, body: bytes) -> Answer:
    """POST /groups/rebalance"""
    asked = read_body(body, '{"group_id": "kitchen"}', {"group_id": str}, {"reason": str})
    with _refusing():
        groups.force_rebalance(broker.server.services, asked["group_id"], asked.get("reason"))
        return {"state": look_at_group(broker.server.services, broker.server.cluster, asked["group_id"]).state}


async def move(broker: ControlledBroker, body: bytes) -> Answer:
    """POST /groups/move"""
    asked = read_body(body, '{"group_id": "kitchen", "to": 2}', {"group_id": str, "to": int})
    with _refusing():
        leaders.move_coordinator(broker.server.services, broker.server.cluster, asked["group_id"], asked["to"])
        return {"coordinator": asked["to"]}


async def move_leader(broker: ControlledBroker, body: bytes) -> Answer:
    """POST /topics/move_leader"""
    example = '{"topic": "orders", "partition": 0, "to": 2}'
    asked = read_body(body, example, {"topic": str, "partition": int, "to": int})
    with _refusing():
        leaders.move_leader(
            broker.server.services, broker.server.cluster, asked["topic"], asked["partition"], asked["to"]
        )
        moved = look_at_topic(broker.server.cluster, asked["topic"]).partitions[asked["partition"]]
        return {"leader_id": moved.leader_id, "leader_epoch": moved.leader_epoch}


@contextmanager
def _refusing() -> Iterator[None]:
    """Say what the broker can't do."""
    try:
        yield
    except NoSuchTopic as absent:
        raise HttpRefused(HTTPStatus.NOT_FOUND, str(absent)) from None
    except ChangeRefused as refused:
        raise HttpRefused(HTTPStatus.CONFLICT, str(refused)) from None
