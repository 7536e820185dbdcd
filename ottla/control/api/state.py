"""What a broker's state is, over HTTP, waiting for it, and putting it back: the verbs that `ottla.testing` has.

GET  /groups/{group_id}     a group: members, what they read and were given, what is committed, how much is left
GET  /topics/{topic}        a topic: its partitions, their leaders, where their logs begin and end
GET  /records/{topic}       the last records in it, decoded
GET  /transactions          transactional ids, and how their transactions stand
GET  /transactions/{transactional_id}    one of them
GET  /connections           who is connected
GET  /timeline              what happened last, and the same as a table
GET  /requests              what clients have asked and were answered: see `requests`
POST /wait                  answered when what the body says is so: see `read_condition`
POST /seed                  {"entries": [...]}: have these topics, records and offsets, as in a file for --seed
POST /snapshot, /restore    keep all as it is, and go back to it: see `snapshots`
POST /reset                 {}: have it as it was at its start
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import parse_qsl, unquote

from ottla.control.api.body import read_object
from ottla.control.api.http_refused import HttpRefused
from ottla.control.api.requests import tell_requests
from ottla.control.api.route import WAIT_MS, WAIT_MS_MAX, Answer
from ottla.control.api.snapshots import Snapshots
from ottla.control.changes.seeds import SeedError, plant, seeded
from ottla.control.state import conditions
from ottla.control.state.connections import look_at_connections
from ottla.control.state.groups import GroupView, look_at_group
from ottla.control.state.topics import (
    COMMITTED,
    NoSuchTopic,
    Record,
    check_isolation,
    find_topic,
    look_at_topic,
    records_of,
)
from ottla.control.state.transactions import TransactionView, look_at_transaction, look_at_transactions
from ottla.control.state.waiting import NotInTime

if TYPE_CHECKING:
    from ottla.control.attached.controlled_broker import ControlledBroker
    from ottla.control.state.conditions import Condition
    from ottla.control.state.timeline import History, Moment

#: How many records, and how many events, an answer has at most.
TOLD_MAX: Final = 1_000


class StateControl:
    """Answers what concerns the state of one broker. Raises `HttpRefused`."""

    def __init__(self, broker: ControlledBroker, history: History) -> None:
        """`history`: what happens is kept there."""
        self._broker = broker
        self._server = broker.server
        self._history = history
        self._snapshots = Snapshots(broker.server)
        #: One at a time puts the broker back: who comes meanwhile waits.
        self._putting_back = asyncio.Lock()

    async def group(self, name: bytes) -> Answer:
        """GET /groups/{group_id}"""
        return _tell_group(look_at_group(self._server.services, self._server.cluster, unquote(name.decode("latin-1"))))

    async def topic(self, name: bytes) -> Answer:
        """GET /topics/{topic}"""
        try:
            return asdict(look_at_topic(self._server.cluster, unquote(name.decode("latin-1"))))
        except NoSuchTopic as missing:
            raise HttpRefused(HTTPStatus.NOT_FOUND, str(missing)) from None

    async def records(self, name: bytes) -> Answer:
        """GET /records/{topic}"""
        path, _, query = name.decode("latin-1").partition("?")
        topic, asked = unquote(path), dict(parse_qsl(query, keep_blank_values=True))
        isolation: Any = asked.pop("isolation", COMMITTED)
        if asked:
            raise HttpRefused(HTTPStatus.BAD_REQUEST, "isolation can be asked for, and nothing else")
        try:
            check_isolation(isolation)
        except ValueError as error:
            raise HttpRefused(HTTPStatus.BAD_REQUEST, str(error)) from None
        try:
            find_topic(self._server.cluster, topic)
        except NoSuchTopic as missing:
            raise HttpRefused(HTTPStatus.NOT_FOUND, str(missing)) from None
        found = records_of(self._server.cluster, topic, isolation=isolation)
        return {"records": [_tell_record(record) for record in deque(found, TOLD_MAX)]}

    async def transactions(self, _query: bytes) -> Answer:
        """GET /transactions"""
        return {"transactions": [_tell_transaction(view) for view in look_at_transactions(self._server.services)]}

    async def transaction(self, name: bytes) -> Answer:
        """GET /transactions/{transactional_id}"""
        return _tell_transaction(look_at_transaction(self._server.services, unquote(name.decode("latin-1"))))

    async def connections(self, _query: bytes) -> Answer:
        """GET /connections"""
        return {"connections": [asdict(view) for view in look_at_connections(self._server.connections)]}

    async def timeline(self, _query: bytes) -> Answer:
        """GET /timeline"""
        timeline = self._history.timeline()
        moments = list(deque(timeline, TOLD_MAX))
        lost = timeline.lost + len(timeline) - len(moments)
        return {"lost": lost, "text": str(timeline.short()), "events": [_tell_moment(moment) for moment in moments]}

    async def requests(self, query: bytes) -> Answer:
        """GET /requests"""
        return await tell_requests(self._broker, query)

    async def wait(self, body: bytes) -> Answer:
        """POST /wait"""
        asked = read_object(body)
        if asked is None:
            raise _makes_no_sense()
        timeout_ms = asked.pop("timeout_ms", WAIT_MS)
        if type(timeout_ms) is not int or not 0 <= timeout_ms <= WAIT_MS_MAX:
            raise HttpRefused(HTTPStatus.BAD_REQUEST, f"timeout_ms is a whole number from 0 to {WAIT_MS_MAX}")
        try:
            if asked == {"idle": True}:
                await self._broker.waiting.until_idle(timeout_ms / 1000)
                return {"waited_for": "the broker to be idle"}
            condition = _condition(asked)
            await self._broker.waiting.until(condition, timeout_ms / 1000)
        except NotInTime as late:
            raise HttpRefused(HTTPStatus.CONFLICT, str(late)) from None
        return {"waited_for": condition.said}

    async def seed(self, body: bytes) -> Answer:
        """POST /seed"""
        asked = read_object(body)
        if asked is None or asked.keys() != {"entries"} or not isinstance(asked["entries"], list):
            raise HttpRefused(
                HTTPStatus.BAD_REQUEST, 'the body says what there is to be, such as {"entries": [{"topic": "orders"}]}'
            )
        try:
            seed = [seeded(f"entry {number}", entry) for number, entry in enumerate(asked["entries"], 1)]
        except SeedError as error:
            raise HttpRefused(HTTPStatus.BAD_REQUEST, str(error)) from None
        try:
            await plant(self._server.services, self._server.cluster, seed)
        except SeedError as error:
            raise HttpRefused(HTTPStatus.CONFLICT, str(error)) from None
        return {"entries": len(seed)}

    async def snapshot(self, body: bytes) -> Answer:
        """POST /snapshot"""
        async with self._putting_back:
            return await self._snapshots.take(body)

    async def restore(self, body: bytes) -> Answer:
        """POST /restore"""
        async with self._putting_back:
            return await self._snapshots.restore(body)

    async def reset(self, body: bytes) -> Answer:
        """POST /reset"""
        if read_object(body) != {}:
            raise HttpRefused(HTTPStatus.BAD_REQUEST, "the body is {}, for there is nothing to say")
        async with self._putting_back:
            await self._broker.reset()
        return {"topics": len(self._server.cluster.topics)}


def _condition(asked: Mapping[str, Any]) -> Condition[Any]:
    try:
        return read_condition(asked)
    except ValueError as error:
        raise HttpRefused(HTTPStatus.BAD_REQUEST, str(error)) from None


def read_condition(asked: Mapping[str, Any]) -> Condition[Any]:
    """What is to be waited for:

    {"group": "kitchen", "state": "Stable", "members": 2, "generation": 3, "lag": 0}, as much of it as matters
    {"group": "kitchen", "assigned": true}
    {"group": "kitchen", "topic": "orders", "partition": 0, "at_least": 7}: so far is committed
    {"topic": "orders", "records": 7, "isolation": "read_uncommitted"}, the last for records of all transactions
    {"transactional_id": "bills", "state": "Ongoing"}
    """
    match asked:
        case {"group": str(group), "assigned": True, **rest} if not rest:
            return conditions.group_has_all(group)
        case {"group": str(group), "topic": str(topic), "partition": int(index), "at_least": int(offset), **rest} if (
            not rest
        ):
            return conditions.commit_is(group, topic, index, at_least=offset)
        case {"topic": str(topic), "records": int(count), **rest} if not rest:
            return conditions.records_are(topic, count)
        case {"topic": str(topic), "records": int(count), "isolation": str(isolation), **rest} if not rest:
            return conditions.records_are(topic, count, cast("Any", isolation))
        case {"transactional_id": str(transactional_id), "state": str(state), **rest} if not rest:
            return conditions.transaction_is(transactional_id, state=state)
        case {"group": str(group), **rest} if all(type(rest[key]) is _GROUP_WORDS.get(key) for key in rest):
            return conditions.group_is(group, **rest)
    raise _makes_no_sense()


_GROUP_WORDS: Final = {"state": str, "members": int, "generation": int, "lag": int}


def _makes_no_sense() -> HttpRefused:
    return HttpRefused(
        HTTPStatus.BAD_REQUEST,
        'the body says what to wait for: "group" with "state", "members", "generation" or "lag"; "group" and '
        '"assigned"; "group", "topic", "partition" and "at_least"; "topic" and "records"; '
        '"transactional_id" and "state"; or "idle"; and "timeout_ms"',
    )


def _tell_group(view: GroupView) -> Answer:
    told = asdict(view)
    told["committed"] = [
        {"topic": topic, "partition": index, "offset": offset, "lag": view.lag.get((topic, index))}
        for (topic, index), offset in view.committed.items()
    ]
    told["uncommitted"] = [
        {"topic": topic, "partition": index, "lag": view.lag[topic, index]} for topic, index in view.uncommitted
    ]
    told["unassigned"] = [{"topic": topic, "partition": index} for topic, index in view.unassigned]
    del told["lag"]
    return told


def _tell_transaction(view: TransactionView) -> Answer:
    partitions = [{"topic": topic, "partition": index} for topic, index in view.partitions]
    return {**asdict(view), "partitions": partitions}


def _tell_record(record: Record) -> Answer:
    told = asdict(record)
    told["key"], told["value"] = _tell_bytes(record.key), _tell_bytes(record.value)
    told["headers"] = [{"name": name, "value": _tell_bytes(value)} for name, value in record.headers]
    return told


def _tell_bytes(data: bytes | None) -> str | dict[str, str] | None:
    """As text, or as {"base64": ...} what is none."""
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data or b"").decode()}


def _tell_moment(moment: Moment) -> Answer:
    return {**asdict(moment), "details": {key: _plain(value) for key, value in moment.details.items()}}


def _plain(value: object) -> object:
    """As JSON has it."""
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
