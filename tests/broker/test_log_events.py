"""The table of events is the whole truth: nothing else is logged or told, and nothing in it never is."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import structlog

import ottla
from ottla.broker.docs import PAGES
from ottla.broker.groups.notes import NotesToStream
from ottla.broker.log_lines import write_log_lines
from ottla.broker.network.endpoints import read_endpoints
from ottla.broker.server import Server
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.notes import Cause, Happened, Note
from ottla.coordinator.transactions.notes import Happened as HappenedToTransaction
from ottla.events.kind import KINDS, Kind
from ottla.events.stream import Stream
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.leave_group import LeaveGroupRequest
from ottla.purgatory import VirtualClock
from ottla.settings.settings import Settings
from tests.broker.scene import Log
from tests.support.client import Client
from tests.support.wire import Connection, ConnectionClosedError

PACKAGE: Final = Path(ottla.__file__).parent
DOCS: Final = PACKAGE.parent / "docs"

#: Method of the logger → level of the event.
LEVELS: Final = {"debug": "debug", "info": "info", "warning": "warning", "error": "error", "exception": "error"}
#: Bound to the loggers of nodes, and so part of whatever these log.
BOUND: Final = {"node_id"}


def sources() -> Iterator[Path]:
    """Every module but the generated ones, which log nothing and are many."""
    return (path for path in PACKAGE.rglob("*.py") if "messages" not in path.parts)


def log_calls() -> Iterator[tuple[str, str, str | None, set[str]]]:
    """Every call of a logger or of the stream in the sources: where it stands, the name, the level, the keys."""
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr=method),
                    args=[ast.Constant(value=str(event))],
                    keywords=keywords,
                ) if name in ("log", "_log") and method in LEVELS:
                    where = f"{path.relative_to(PACKAGE)}:{node.lineno}"
                    yield where, event, LEVELS[method], {str(keyword.arg) for keyword in keywords}
                case ast.Call(
                    func=ast.Attribute(attr="tell"),
                    args=[ast.Attribute(value=ast.Name(id="Kind"), attr=member)],
                    keywords=keywords,
                ):
                    kind, where = Kind[member], f"{path.relative_to(PACKAGE)}:{node.lineno}"
                    yield where, kind.value, kind.level, {str(keyword.arg) for keyword in keywords} - BOUND - {"raised"}


def test_every_log_call_is_in_the_table() -> None:
    """Name and level of each call in the sources are those of the table, and it has no other keys."""
    calls = list(log_calls())
    assert len(calls) > 10, "the search must find them"
    for where, event, level, keys in calls:
        assert event in KINDS, f"{where} logs {event}, which kind.py does not have"
        assert KINDS[event].level == level, f"{where} logs {event}"
        assert keys <= set(KINDS[event].keys), f"{where} logs {event}"


def test_every_event_and_key_of_the_table_is_logged_somewhere() -> None:
    """By a call in the sources, or from a note about a group or a transaction."""
    noted = [happened.value for notes in (Happened, HappenedToTransaction) for happened in notes]
    logged: dict[str, set[str]] = {name: set(KINDS[name].keys) for name in noted}
    for _, event, _, keys in log_calls():
        logged[event] = logged.get(event, set()) | keys
    assert logged == {kind.value: set(kind.keys) for kind in Kind}


def test_names_are_dotted_and_keys_have_units() -> None:
    """group.rebalance.started, duration_ms: what people search for keeps one form."""
    for kind in Kind:
        assert all(part.replace("_", "").isalpha() and part.islower() for part in kind.value.split("."))
        assert "." in kind.value
        for key in kind.keys:
            assert not key.endswith(("timeout", "duration", "age")), f"{kind.value}: {key} has no unit"


@pytest.mark.parametrize("happened", Happened)
def test_note_about_a_group_is_logged_with_the_keys_of_the_table(happened: Happened) -> None:
    """Lists of members become how many they are, errors and causes their names; what is not in the table stays out."""
    details: dict[str, object] = {
        "member_ids": ["ana", "bo"],
        "cause": Cause.MEMBER_LEFT,
        "error": ErrorCode.UNKNOWN_MEMBER_ID,
        "duration_ms": 5,
        "no_such_key": 1,
    }
    log, events = Log(), Stream(lambda: 0, lambda: 0)
    write_log_lines(events, AtEveryLevel(log))
    NotesToStream(events)("orders", 0, Note(1, happened, GroupState.STABLE, 7, details))
    ((name, keys),) = log.events
    assert name == happened.value
    assert keys.keys() <= set(KINDS[name].keys)
    said = {"group_id": "orders", "generation_id": 7, "cause": "member_left", "error": "UNKNOWN_MEMBER_ID"}
    said |= {"members": 2, "duration_ms": 5}
    assert keys == {key: value for key, value in said.items() if key in KINDS[name].keys}


class AtEveryLevel:
    """A logger that lets everything pass."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def is_enabled_for(self, _level: int) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def test_notes_below_the_log_level_cost_nothing() -> None:
    """At info nobody hears that a member joined; that a rebalance began they do."""
    log, events = Log(), Stream(lambda: 0, lambda: 0)
    write_log_lines(events, log)
    tell = NotesToStream(events)
    for happened in (Happened.MEMBER_JOINED, Happened.REBALANCE_STARTED):
        tell("orders", 0, Note(1, happened, GroupState.STABLE, 7, {}))
    assert [name for name, _ in log.events] == ["group.rebalance.started"]


def test_a_log_that_takes_no_commits_is_told_of_once_for_a_reason() -> None:
    """Per group and kind of record; after a quiet minute it is news again."""
    log, clock = Log(), VirtualClock()
    events = Stream(clock.now_ms, clock.wall_ms)
    write_log_lines(events, log)
    tell = NotesToStream(events)
    refusals = [
        ("orders", "offsets", "UNKNOWN_SERVER_ERROR"),
        ("orders", "offsets", "UNKNOWN_SERVER_ERROR"),
        ("orders", "offsets", "COORDINATOR_NOT_AVAILABLE"),
        ("orders", "assignments", "UNKNOWN_SERVER_ERROR"),
        ("payments", "offsets", "UNKNOWN_SERVER_ERROR"),
        ("orders", "assignments", "UNKNOWN_SERVER_ERROR"),
    ]
    for group_id, what, error in refusals:
        details: dict[str, object] = {"what": what, "error": error}
        tell(group_id, 0, Note(1, Happened.WRITE_FAILED, GroupState.STABLE, 7, details))
    told = [(keys["group_id"], keys["what"], keys["error"]) for _, keys in log.events]
    assert told == [refusals[0], *refusals[2:5]]
    clock.move_to(clock.now_ms() + 60_001)
    tell("orders", 0, Note(2, Happened.WRITE_FAILED, GroupState.STABLE, 7, details))
    assert len(log.events) == 5


async def test_running_broker_logs_nothing_else() -> None:
    """Requests, topics, a group that comes and goes, nonsense: each line has a name, level and keys of the table."""
    capture = structlog.testing.LogCapture()
    log = structlog.wrap_logger(
        None, processors=[capture], wrapper_class=structlog.make_filtering_bound_logger(10)
    ).bind()
    settings = Settings({"group.initial.rebalance.delay.ms": "0"})
    server = Server(settings, endpoints=read_endpoints(settings, ["127.0.0.1:0"]), log=log)
    ready = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(server.run(on_ready=ready.set))
        await ready.wait()
        await asyncio.to_thread(visit, server.bootstrap)
        server.stop()
    told = {entry["event"] for entry in capture.entries}
    assert {"request.handled", "topic.created", "connection.refused"} <= told
    assert {"transaction.producer.initialized"} <= told
    assert {"group.rebalance.started", "group.rebalance.joined", "group.member.removed", "group.emptied"} <= told
    for entry in capture.entries:
        kind = KINDS[entry.pop("event")]
        assert entry.pop("log_level") == kind.level
        assert entry.keys() <= set(kind.keys) | BOUND, kind.value


def visit(bootstrap: str) -> None:
    """Do a bit of everything."""
    with Client(bootstrap) as client:
        client.ask(CreateTopicsRequest([CreateTopicsRequest.CreatableTopic("orders", 1, 1)], 1000), 5)
        client.ask(FindCoordinatorRequest("transactional", 1), 1)
        assert client.ask(InitProducerIdRequest("transactional", 1000), 1).error_code == ErrorCode.NONE
        client.ask(FindCoordinatorRequest("g"), 1)
        protocols = [JoinGroupRequest.JoinGroupRequestProtocol("range", b"")]
        joined = client.ask(JoinGroupRequest("g", 10_000, 10_000, "", None, "consumer", protocols), 3)
        assert joined.error_code == ErrorCode.NONE
        assert client.ask(LeaveGroupRequest("g", joined.member_id), 1).error_code == ErrorCode.NONE
    with Connection(bootstrap) as nonsense:
        nonsense.send(b"\xff" * 8)
        with pytest.raises(ConnectionClosedError):
            nonsense.receive_frame()


@pytest.mark.parametrize("name", PAGES)
def test_page_is_what_the_tables_say(name: str) -> None:
    """Whoever changes a table prints the page again."""
    assert (DOCS / name).read_text() == PAGES[name](), f"docs/{name} is stale; run `make docs`"
