"""The table of events is the whole truth: nothing else is logged or told, and nothing in it never is."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import structlog

import ottla
from ottla.broker.groups.coordination import GROUPS
from ottla.broker.groups.notes import NotesToStream
from ottla.broker.internal.coordinated_topic import CoordinatedTopic
from ottla.broker.lifecycle.server import Server
from ottla.broker.network.endpoints import read_endpoints
from ottla.broker.reporting.log_lines import LogLines
from ottla.broker.transactions.coordination import TRANSACTIONS
from ottla.control.faults.targets import TARGETS
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.notes import Cause, Note
from ottla.events.kind import KINDS, Kind
from ottla.events.kinds import groups, transactions
from ottla.events.kinds.event_kind import EventKind
from ottla.events.stream import Stream
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.leave_group import LeaveGroupRequest
from ottla.protocol.record_building import build_batch
from ottla.purgatory import VirtualClock
from ottla.settings.settings import Settings
from tests.broker.scene import Log, Scene
from tests.log.partitions import produce
from tests.support.client import Client
from tests.support.wire import Connection, ConnectionClosedError

PACKAGE: Final = Path(ottla.__file__).parent
DOCS: Final = PACKAGE.parent / "docs"

#: What else a call of the stream may have: no details.
NO_DETAILS: Final = {"node_id", "raised", "wall_ms"}
#: How loggers are called.
LEVELS: Final = {"debug", "info", "warning", "error", "exception"}
#: Details that stand in a helper of those who tell.
COMMON: Final = {
    Kind.CONNECTION_OPENED: {"listener", "client_host", "client_port"},
    Kind.CONNECTION_CLOSED: {"listener", "client_host", "client_port"},
    Kind.CONNECTION_FOREIGN: {"client_host"},
    Kind.CONNECTION_REFUSED: {"client_host"},
    Kind.CONNECTION_FAILED: {"client_host"},
    Kind.REQUEST_REFUSED: {"api", "api_version"},
    Kind.REQUEST_FAILED: {"api", "api_version"},
}


def sources() -> Iterator[Path]:
    """Every module but the generated ones, which tell nothing and are many."""
    return (path for path in PACKAGE.rglob("*.py") if "messages" not in path.parts)


def calls() -> Iterator[tuple[EventKind, str, list[str]]]:
    """Every call in the sources that names a kind to tell: the kind, where it stands, the details, in their order."""
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(args=[ast.Attribute(value=ast.Name(id="Kind"), attr=member), *_], keywords=keywords):
                    names = [str(keyword.arg) for keyword in keywords if keyword.arg not in NO_DETAILS]
                    yield getattr(Kind, member), f"{path.relative_to(PACKAGE)}:{node.lineno}", names


def test_nobody_writes_a_line_of_the_log_but_the_reader_of_the_stream() -> None:
    """A line that was not an event would be missing wherever else events are read."""
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(value=called, attr=method)) if method in LEVELS:
                    name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
                    assert "log" not in name, f"{path.relative_to(PACKAGE)}:{node.lineno} logs by itself"


def test_every_detail_is_in_the_table() -> None:
    """And none is told of a kind that doesn't have it."""
    found = list(calls())
    assert len(found) > 50, "the search must find them"
    for kind, where, names in found:
        assert set(names) <= {*kind.keys, *kind.keys_unlogged}, f"{where} tells {kind.name}"


def told_of(topic: CoordinatedTopic) -> Iterator[tuple[EventKind, set[str]]]:
    """The kinds that tell of an internal topic's partitions and machines, with the details that they are told with."""
    machine = {*topic.machine_fields("0")}
    yield topic.loaded, {"partition", "duration_ms"} | ({topic.machines_field} if topic.machines_field else set())
    yield topic.load_failed, {"partition", "reason"}
    yield topic.records_ignored, {"partition", "record_type", "records"}
    yield topic.machine_failed, {*machine, "reason"}
    yield topic.machine_recovered, machine


def test_every_kind_and_key_of_the_table_is_told_somewhere() -> None:
    """By a call in the sources, from a note about a group or a transaction, or by the row of a fault's target or of a
    coordinated topic.
    """
    told = {kind.name: set(COMMON.get(kind, ())) for kind in KINDS.values()}
    by_targets = {kind for row in TARGETS for kind in (row.hit, row.held, row.let_go) if kind is not None}
    for kind in (*groups.NOTED, *transactions.NOTED, *by_targets):
        told[kind.name] |= {*kind.keys, *kind.keys_unlogged}
    for kind, details in (*told_of(GROUPS), *told_of(TRANSACTIONS)):
        told[kind.name] |= details
    for kind, _, names in calls():
        told[kind.name] |= set(names)
    assert told == {kind.name: {*kind.keys, *kind.keys_unlogged} for kind in KINDS.values()}


def test_names_are_dotted_and_keys_have_units() -> None:
    """group.rebalance.started, duration_ms: what people search for keeps one form."""
    for kind in KINDS.values():
        assert all(part.replace("_", "").isalpha() and part.islower() for part in kind.name.split("."))
        assert "." in kind.name
        for key in (*kind.keys, *kind.keys_unlogged):
            assert not key.endswith(("timeout", "duration", "age")), f"{kind.name}: {key} has no unit"


@pytest.mark.parametrize("kind", groups.NOTED, ids=lambda kind: kind.name)
def test_note_about_a_group_is_logged_with_the_keys_of_the_table(kind: EventKind) -> None:
    """Of lists of members the log has how many they are, of errors and causes the names; and nothing else."""
    details: dict[str, object] = {
        "member_ids": ["ana", "bo"],
        "cause": Cause.MEMBER_LEFT,
        "error": ErrorCode.UNKNOWN_MEMBER_ID,
        "duration_ms": 5,
        "no_such_key": 1,
    }
    log, events = Log(), Stream(lambda: 0, lambda: 0)
    LogLines(events, AtEveryLevel(log))
    NotesToStream(events)("orders", 0, Note(1, kind, GroupState.STABLE, 7, details))
    ((name, keys),) = log.events
    assert name == kind.name
    assert keys.keys() <= set(kind.keys)
    said = {"group_id": "orders", "generation_id": 7, "cause": "member_left", "error": "UNKNOWN_MEMBER_ID"}
    said |= {"members": 2, "duration_ms": 5}
    assert keys == {key: value for key, value in said.items() if key in kind.keys}


class AtEveryLevel:
    """A logger that lets everything pass."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def is_enabled_for(self, _level: int) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def test_notes_below_the_log_level_cost_nothing() -> None:
    """At info nobody hears that a member joined, so no note is wanted of it; until somebody else listens."""
    log, events = Log(), Stream(lambda: 0, lambda: 0)
    LogLines(events, log)
    notes = NotesToStream(events)
    assert Kind.GROUP_MEMBER_JOINED not in notes.wanted
    assert Kind.GROUP_REBALANCE_STARTED in notes.wanted
    stop = events.read(print, [Kind.GROUP_MEMBER_JOINED])
    assert Kind.GROUP_MEMBER_JOINED in notes.wanted
    stop()
    assert Kind.GROUP_MEMBER_JOINED not in notes.wanted


def test_a_log_that_takes_no_commits_is_told_of_once_for_a_reason() -> None:
    """Per group and kind of record; after a quiet minute it is news again."""
    log, clock = Log(), VirtualClock()
    events = Stream(clock.now_ms, clock.wall_ms)
    LogLines(events, log)
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
        tell(group_id, 0, Note(1, Kind.GROUP_WRITE_FAILED, GroupState.STABLE, 7, details))
    told = [(keys["group_id"], keys["what"], keys["error"]) for _, keys in log.events]
    assert told == [refusals[0], *refusals[2:5]]
    clock.move_to(clock.now_ms() + 60_001)
    tell("orders", 0, Note(2, Kind.GROUP_WRITE_FAILED, GroupState.STABLE, 7, details))
    assert len(log.events) == 5


def test_a_client_that_speaks_something_else_is_told_of_once_in_a_while() -> None:
    """For each protocol it tries, in whatever order."""
    log, clock = Log(), VirtualClock()
    events = Stream(clock.now_ms, clock.wall_ms)
    LogLines(events, log)
    for reason in ("TLS", "HTTP", "TLS", "HTTP"):
        events.tell(Kind.CONNECTION_FOREIGN, node_id=1, client_host="/10.0.0.7", reason=reason)
    assert [keys["reason"] for _, keys in log.events] == ["TLS", "HTTP"]


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
        assert list(entry) == [key for key in ("node_id", *kind.keys) if key in entry], kind.name


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


def test_a_full_store_in_memory_is_told_once_for_each_topic() -> None:
    """Producers try again and again until they time out; the line names the topic, the setting and what to do."""
    scene = Scene(settings={"ottla.log.bytes.max": "1000"})
    topic = scene.create("orders", 2)
    for partition in (*topic.partitions, *topic.partitions):
        produce(partition, build_batch([(None, b"x" * 2_000)], timestamp_ms=0), wall_ms=0)
    (line,) = scene.log.named("log.full")
    assert (line["topic"], line["partition"], line["limit"]) == ("orders", 0, "ottla.log.bytes.max")
    assert "raise ottla.log.bytes.max, lower retention.ms" in line["reason"]


class TestWhenLinesAreWritten:
    def test_what_went_well_waits_for_the_answers_of_its_turn(self) -> None:
        log, events, soon = Log(), Stream(lambda: 0, lambda: 0), list[Callable[[], None]]()
        lines = LogLines(events, log)
        lines.write_soon(soon.append)
        events.tell(Kind.BROKER_STOP_REQUESTED, signal="SIGTERM")
        events.tell(Kind.BROKER_STOP_REQUESTED, signal="SIGINT")
        assert not log.events
        (write,) = soon
        write()
        assert [keys["signal"] for _, keys in log.events] == ["SIGTERM", "SIGINT"]

    def test_what_did_not_is_written_at_once_behind_what_was_before(self) -> None:
        log, events = Log(), Stream(lambda: 0, lambda: 0)
        LogLines(events, log).write_soon(lambda _write: None)
        events.tell(Kind.BROKER_STOP_REQUESTED, signal="SIGTERM")
        events.tell(Kind.JOB_FAILED, job="cleaning", reason="no")
        assert [name for name, _ in log.events] == ["broker.stop.requested", "job.failed"]

    def test_nothing_is_lost_at_the_end(self) -> None:
        """Nor what is told when the loop is gone."""
        log, events = Log(), Stream(lambda: 0, lambda: 0)
        lines = LogLines(events, log)
        lines.write_soon(lambda _write: None)
        events.tell(Kind.BROKER_STOP_REQUESTED, signal="SIGTERM")
        lines.write_at_once()
        events.tell(Kind.BROKER_STOP_REQUESTED, signal="SIGINT")
        assert [keys["signal"] for _, keys in log.events] == ["SIGTERM", "SIGINT"]
