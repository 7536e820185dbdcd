"""A coordination of an internal topic of its own, with toy machines: a row, and how a node's coordinator is made.

That it loads, unloads, recovers and tells of topics is not the groups' or the transactions' doing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from ottla.broker.internal.coordinated_topic import CoordinatedTopic
from ottla.broker.internal.coordination import Coordination
from ottla.broker.internal.log import InternalLog
from ottla.coordinator.runtime.events import TopicsChanged
from ottla.coordinator.runtime.runtime import Runtime
from ottla.events.kind import Kind
from ottla.events.kinds.event_kind import EventKind
from ottla.events.stream import Event
from ottla.protocol.errors import ErrorCode
from tests.broker.scene import Scene
from tests.coordinator.node import Answered
from tests.coordinator.runtime.roster import ROSTER, Heard, MixedShard, Put, PutRequested, Roster, roster_record
from tests.coordinator.runtime.toy import TALLY, AddRequested, Tally, tally_record

TOPIC = "__toys"

#: Told by the kinds of events that there are: which they are is all that the row says.
TOYS = CoordinatedTopic(
    name="toys",
    topic=TOPIC,
    machine="toy {}",
    machine_fields=lambda key: {"group_id": key},
    loading="toy loading",
    loaded=Kind.GROUP_LOG_LOADED,
    machines_field="groups",
    load_failed=Kind.GROUP_LOG_LOAD_FAILED,
    records_ignored=Kind.GROUP_LOG_RECORDS_IGNORED,
    all_loaded=Kind.GROUPS_LOADED,
    machine_failed=Kind.GROUP_FAILED,
    machine_recovered=Kind.GROUP_RECOVERED,
)
TOLD = (
    Kind.GROUP_LOG_LOADED,
    Kind.GROUP_LOG_LOAD_FAILED,
    Kind.GROUP_LOG_RECORDS_IGNORED,
    Kind.GROUPS_LOADED,
    Kind.GROUP_FAILED,
    Kind.GROUP_RECOVERED,
)


class ToyCoordinator:
    """The toys of one node."""

    def __init__(self, scene: ToyScene, failed: Callable[[str, Exception], None]) -> None:
        self.heard: list[tuple[str, Any]] = []
        self.runtime: Runtime[Any] = Runtime(
            MixedShard,
            InternalLog(scene.cluster, TOPIC),
            scene.timer,
            scene.tasks,
            resubmit=lambda _key, _event: None,
            refuse=lambda _key, item: item.token.answer("failed"),
            purgatories=("Idle", "Rolls"),
            notices=lambda key, _ms, notice: self.heard.append((key, notice)),
            failed=failed,
            kinds=(TALLY, ROSTER),
        )

    def close(self) -> None:
        self.runtime.close()

    def ask(self, key: str, request: Callable[[Answered], Any]) -> asyncio.Future[Any]:
        token = Answered()
        self.runtime.owners[key].post(request(token))
        return token.future


class ToyCoordination(Coordination[ToyCoordinator]):
    def __init__(self, scene: ToyScene) -> None:
        super().__init__(TOYS, scene.cluster, scene.timer, scene.services.background)
        self._start(lambda _node_id, failed: ToyCoordinator(scene, failed))


class ToyScene(Scene):
    """Two nodes; node 1 leads the only partition of the toys' topic."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        super().__init__(2, tasks=tasks, loop=asyncio.get_running_loop())
        self.tasks = tasks
        self.told: list[Event] = []
        self.cluster.events.read(self.told.append, TOLD)
        self.coordination = self.services.enter(ToyCoordination(self))

    async def settle(self) -> None:
        while not self.services.is_settled:  # noqa: ASYNC110 (turn by turn, as the loop goes)
            await asyncio.sleep(0)

    def coordinator(self, node_id: int) -> ToyCoordinator:
        return self.coordination.of_node[node_id]

    def said(self) -> list[tuple[EventKind, dict[str, Any]]]:
        """What was told since the last time."""
        told = [(event.kind, dict(event.details)) for event in self.told]
        self.told.clear()
        return told


@asynccontextmanager
async def running_toys() -> AsyncIterator[ToyScene]:
    async with asyncio.TaskGroup() as tasks:
        scene = ToyScene(tasks)
        scene.cluster.create_topic(TOPIC, [[1, 2]], {})
        scene.coordinator(1).runtime.bring_in("r", Roster("r"), 0)
        try:
            yield scene
        finally:
            scene.services.close()
    assert scene.timer.size == 0


async def test_a_node_that_loses_its_partition_gives_its_machines_to_the_next() -> None:
    """What it had written is there; what was told counts the machines by the row's field."""
    async with running_toys() as scene:
        assert await scene.coordinator(1).ask("r", lambda token: PutRequested(token, ("ana",))) == (0, ["ana"])
        scene.coordination.resign(0, node_id=1)
        assert scene.coordinator(1).runtime.owners == {}
        scene.coordination.take_over(scene.cluster.topics[TOPIC].partitions[0], node_id=2)
        await scene.settle()
        assert scene.coordinator(2).runtime.owners["r"].machine.names == {"ana": 1}
        loaded = {"partition": 0, "groups": 1, "duration_ms": 0}
        assert scene.said() == [(Kind.GROUP_LOG_LOADED, loaded), (Kind.GROUPS_LOADED, {})]


async def test_what_is_foreign_or_broken_in_the_log_is_told() -> None:
    async with running_toys() as scene:
        log = scene.cluster.topics[TOPIC].partitions[0]
        runtime = scene.coordinator(1).runtime
        write = InternalLog(scene.cluster, TOPIC).append
        assert write(0, [(b"\0\1 foreign", b""), tally_record("t", 3)]) is ErrorCode.NONE
        scene.coordination.take_over(log, node_id=1)
        await scene.settle()
        assert runtime.owners["t"].machine.total == 3
        ignored = {"partition": 0, "record_type": 1, "records": 1}
        assert (Kind.GROUP_LOG_RECORDS_IGNORED, ignored) in scene.said()
        assert write(0, [(b"\0", b"")]) is ErrorCode.NONE
        scene.coordination.take_over(log, node_id=1)
        await scene.settle()
        ((kind, details),) = scene.said()
        assert (kind, details["partition"]) == (Kind.GROUP_LOG_LOAD_FAILED, 0)
        assert runtime.owners == {}


async def test_a_machine_that_meets_a_bug_is_read_anew_and_told_by_its_own_fields() -> None:
    async with running_toys() as scene:
        coordinator = scene.coordinator(1)
        coordinator.runtime.bring_in("t", Tally("t"), 0)
        assert await coordinator.ask("t", lambda token: AddRequested(token, 3)) == (0, 3)
        assert await coordinator.ask("t", lambda token: AddRequested(token, -1)) == "failed"
        await scene.timer.advance(0, lambda: scene.services.is_settled)
        assert coordinator.runtime.owners["t"].machine.total == 3
        (failed, failed_of), (recovered, recovered_of), *_ = scene.said()
        assert (failed, failed_of["group_id"]) == (Kind.GROUP_FAILED, "t")
        assert (recovered, recovered_of) == (Kind.GROUP_RECOVERED, {"group_id": "t"})


async def test_its_machines_are_told_of_the_clusters_topics() -> None:
    """Those of all nodes; of what their kinds want to know; not of the topic that they are kept in."""
    async with running_toys() as scene:
        topic = scene.create("orders", 1)
        scene.cluster.add_partitions(topic, [[1]])
        scene.cluster.delete_topic(topic)
        assert scene.coordinator(1).heard == [
            ("r", Heard(TopicsChanged(created={"orders": topic.topic_id}))),
            ("r", Heard(TopicsChanged(grown={"orders": topic.topic_id}))),
        ]
        assert scene.coordinator(2).heard == []


async def test_records_of_all_its_machines_may_be_wrapped() -> None:
    """What is put around the log stands around the logs of all nodes."""
    async with running_toys() as scene:
        seen: list[Any] = []

        class Seen:
            def __init__(self, log: Any) -> None:
                self._log = log

            def append(self, partition: int, records: Any) -> ErrorCode:
                seen.append((partition, list(records)))
                return self._log.append(partition, records)  # type: ignore[no-any-return]

        scene.coordination.put_around_log(Seen)  # type: ignore[arg-type]
        await scene.coordinator(1).ask("r", lambda token: PutRequested(token, ("ana",)))
        assert seen == [(0, [roster_record("r", Put("ana", 1))])]
