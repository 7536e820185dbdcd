"""Faults and held requests over HTTP: the words are those of `ottla.control.faults.specification`.

POST   /faults              {"api": "Produce", "topic": "orders", "answer": "NOT_ENOUGH_REPLICAS", "times": 1}
GET    /faults              all of them, with how often they have happened
GET    /faults/{fault_id}   one of them, with what it has happened to
POST   /faults/wait         {"fault_id": 1, "count": 1, "timeout_ms": 10000}: answered when it has happened so often
DELETE /faults/{fault_id}, /faults

POST   /holds               {"api": "SyncGroup", "group": "kitchen", "role": "leader", "at": "request"}
                            {"timer": "session", "group": "kitchen", "member": "ana-*"}, {"failover": 2}
GET    /holds               all of them, with what they hold, decoded
POST   /holds/wait          {"fault_id": 2, "count": 1}: answered when so many have been held
POST   /holds/let_go        {"fault_id": 2, "number": 1, "change": {"generation_id": 7}}
POST   /holds/refuse        {"fault_id": 2, "number": 1, "error": "REBALANCE_IN_PROGRESS"}
POST   /holds/lose          {"fault_id": 2, "number": 1}
DELETE /holds/{fault_id}    let all go, and hold no more
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable
from dataclasses import fields
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ottla.control.api.body import read_object, read_typed
from ottla.control.api.http_refused import HttpRefused
from ottla.control.api.route import WAIT_MS, WAIT_MS_MAX, Answer
from ottla.control.faults.engine import hold_of, is_hold
from ottla.control.faults.misuse import BadFault
from ottla.control.faults.verbs import error_code
from ottla.protocol.primitives import Message

if TYPE_CHECKING:
    from ottla.control.attached.controlled_broker import ControlledBroker
    from ottla.control.faults.engine import Faults
    from ottla.control.faults.fault import Fault
    from ottla.control.faults.holds import Held
    from ottla.control.faults.milestones import Milestones
    from ottla.control.faults.occurrence import Hit

T = TypeVar("T")

#: How many of the last hits are told.
HITS_TOLD_MAX: Final = 100
_COUNT_MAX: Final = 2**31 - 1
#: Of a fault_id in a path. Python reads no number of more than 4,300 digits.
_DIGITS_MAX: Final = 18


class FaultControl:
    """Answers what concerns faults and holds of one broker. Raises `HttpRefused` and `BadFault`."""

    def __init__(self, broker: ControlledBroker) -> None:
        self._broker = broker

    async def set(self, body: bytes) -> Answer:
        """POST /faults"""
        return _tell(self._faults.set(_read(body)))

    async def list(self, _query: bytes) -> Answer:
        """GET /faults"""
        return {"faults": [_tell(fault) for fault in self._faults.all.values() if not is_hold(fault)]}

    async def show(self, number: bytes) -> Answer:
        """GET /faults/{fault_id}"""
        fault = self._find(_read_number(number))
        return {**_tell(fault), "last_hits": [_tell_hit(hit) for hit in list(fault.hits)[-HITS_TOLD_MAX:]]}

    async def wait(self, body: bytes) -> Answer:
        """POST /faults/wait"""
        asked = _read_body(body, fault_id=int, count=int, timeout_ms=int)
        fault = self._find(asked["fault_id"])
        await _until(fault.waiting, asked, lambda: f"has happened {fault.hit_count} times", fault)
        return _tell(fault)

    async def remove(self, number: bytes) -> Answer:
        """DELETE /faults/{fault_id}, DELETE /holds/{fault_id}"""
        fault = self._find(_read_number(number))
        self._faults.remove(fault.number)
        return _tell(fault)

    async def clear(self, _query: bytes) -> Answer:
        """DELETE /faults"""
        removed = list(self._faults.all.values())
        self._faults.clear()
        return {"faults": [_tell(fault) for fault in removed]}

    async def hold(self, body: bytes) -> Answer:
        """POST /holds"""
        return _tell_hold(self._faults.hold(_read(body)))

    async def list_holds(self, _query: bytes) -> Answer:
        """GET /holds"""
        return {"holds": [_tell_hold(fault) for fault in self._faults.all.values() if is_hold(fault)]}

    async def wait_for_hold(self, body: bytes) -> Answer:
        """POST /holds/wait"""
        asked = _read_body(body, fault_id=int, count=int, timeout_ms=int)
        fault = self._find(asked["fault_id"])
        hold = hold_of(fault)
        await _until(hold.milestones, asked, lambda: f"has held {len(hold.all)}", fault)
        return _tell_hold(fault)

    async def let_go(self, body: bytes) -> Answer:
        """POST /holds/let_go"""
        asked = _read_body(body, fault_id=int, number=int, change=dict)
        held = self._find_held(asked)
        change = asked.get("change", {})
        _check_change(held, change)
        held.change(**change)
        held.let_go()
        return _tell_held(held)

    async def refuse(self, body: bytes) -> Answer:
        """POST /holds/refuse"""
        asked = _read_body(body, fault_id=int, number=int, error=str)
        if "error" not in asked:
            raise HttpRefused(HTTPStatus.BAD_REQUEST, "the body says with which error, such as REBALANCE_IN_PROGRESS")
        held = self._find_held(asked)
        held.refuse(error_code(asked["error"]))
        return _tell_held(held)

    async def lose(self, body: bytes) -> Answer:
        """POST /holds/lose"""
        held = self._find_held(_read_body(body, fault_id=int, number=int))
        held.lose()
        return _tell_held(held)

    @property
    def _faults(self) -> Faults:
        return self._broker.faults

    def _find(self, number: int) -> Fault:
        try:
            return self._faults.find(number)
        except BadFault as unknown:
            raise HttpRefused(HTTPStatus.NOT_FOUND, str(unknown)) from None

    def _find_held(self, asked: dict[str, Any]) -> Held:
        """What is held with this number; without one the first that is held still."""
        fault = self._find(asked["fault_id"])
        hold = hold_of(fault)
        for held in hold.all:
            if held.number == asked["number"] if "number" in asked else held.how is None:
                return held
        raise HttpRefused(HTTPStatus.NOT_FOUND, f"{fault} holds no such thing; {fault.seen_instead()}")


async def _until(milestones: Milestones, asked: dict[str, Any], now: Callable[[], str], fault: Fault) -> None:
    count, timeout_ms = asked.get("count", 1), asked.get("timeout_ms", WAIT_MS)
    if not 1 <= count <= _COUNT_MAX or not 0 <= timeout_ms <= WAIT_MS_MAX:
        raise HttpRefused(HTTPStatus.BAD_REQUEST, f"count is at least 1, and timeout_ms at most {WAIT_MS_MAX}")
    reached = asyncio.Event()
    milestones.call_at(count, reached.set)
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            await reached.wait()
    except TimeoutError:
        sentence = f"waited {timeout_ms} ms in vain: {fault} {now()}, not {count}; {fault.seen_instead()}"
        raise HttpRefused(HTTPStatus.CONFLICT, sentence) from None


def _read(body: bytes) -> dict[str, Any]:
    asked = read_object(body)
    if asked is None:
        raise HttpRefused(HTTPStatus.BAD_REQUEST, 'the body is an object, such as {"api": "Produce", "delay": 500}')
    return asked


def _read_body(body: bytes, **types: type) -> dict[str, Any]:
    """What the body says: a fault_id, and what else there may be, each of its type."""
    refusal = f'the body says which fault, such as {{"fault_id": 1}}; it may have {", ".join(types)}'
    return read_typed(body, {"fault_id": int}, types, refusal)


def _read_number(text: bytes) -> int:
    if not text.isdigit() or len(text) > _DIGITS_MAX:
        raise HttpRefused(HTTPStatus.NOT_FOUND, f"a fault_id is a number, not {text[:_DIGITS_MAX].decode('latin-1')!r}")
    return int(text)


def _check_change(held: Held, change: dict[str, Any]) -> None:
    """Over HTTP plain values can be changed, for others of their kind. Raises `BadFault`."""
    message = held.request if held.answer is None else held.answer
    for name, value in change.items():
        former = getattr(message, name, value)
        if not isinstance(value, (int, str)) or not isinstance(former, (int, str, type(None))):
            raise BadFault(f"{name} can't be changed to {value!r} from here, only texts and numbers can be")


def _tell(fault: Fault) -> Answer:
    return {
        "fault_id": fault.number,
        "fault": fault.text,
        "hits": fault.hit_count,
        "is_spent": fault.is_spent,
        "seen_instead": None if fault.hit_count else fault.seen_instead(),
    }


def _tell_hit(hit: Hit) -> Answer:
    names = [field.name for field in fields(hit) if field.name != "request"]
    return {name: getattr(hit, name) for name in names}


def _tell_hold(fault: Fault) -> Answer:
    return {**_tell(fault), "held": [_tell_held(held) for held in hold_of(fault).all]}


def _tell_held(held: Held) -> Answer:
    return {
        "number": held.number,
        "api": held.hit.api,
        "client_id": held.hit.client_id,
        "group_id": held.hit.group_id,
        "member_id": held.hit.member_id,
        "transactional_id": held.hit.transactional_id,
        "node_id": held.hit.node_id,
        "at": held.at,
        "state": "held" if held.how is None else held.how.value,
        "is_gone": held.is_gone,
        "request": _as_json(held.request),
        "answer": _as_json(held.answer),
    }


def _as_json(value: Any) -> Any:
    """A decoded message as JSON; bytes are base64."""
    if isinstance(value, Message):
        return {name: _as_json(getattr(value, name)) for name in value.__slots__ if name != "unknown_tagged_fields"}
    if isinstance(value, (list, tuple)):
        return [_as_json(item) for item in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return b64encode(value).decode()
    return value
