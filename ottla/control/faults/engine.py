"""All faults and holds of a broker: steps in while there are any, and takes itself out with the last.

    requests            `Interceptor`: before every handler, and before every answer leaves
    connections         `Shared.turn_away`: when one was made
    appends             around the storage of every log
    appends of groups   around the log of the groups
    timers of groups    when one has run out, before its group knows
    failovers           when a dead node is to be missed

Each of the six is laid when the first fault of its kind is set, and taken away with the last that can still happen.
For the thread of the broker's event loop alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ottla.broker.requests.subjects import topics, values
from ottla.control.faults.aim import Target
from ottla.control.faults.appends import HoldAppends
from ottla.control.faults.cutting import TurnAway
from ottla.control.faults.deadlines import FAILOVER, HoldDeadlines, Reached
from ottla.control.faults.fault import Fault, Hit
from ottla.control.faults.keeping import Keeping
from ottla.control.faults.misuse import BadFault
from ottla.control.faults.passage import Action, Passage
from ottla.control.faults.storage import FailAppend, FaultyGroupLog, FaultyStorage, RefuseGroupAppend
from ottla.control.faults.telling import tell_of
from ottla.control.faults.wish import Surroundings, read_fault, read_hold
from ottla.events.kind import Kind

if TYPE_CHECKING:
    from ottla.broker.network.connection import Connection
    from ottla.broker.network.interception import InterceptedCall
    from ottla.broker.network.listener import Shared
    from ottla.broker.node.services import Services
    from ottla.cluster.cluster import Cluster
    from ottla.coordinator.runtime.log import Log as GroupLog
    from ottla.coordinator.runtime.owner import Owner
    from ottla.coordinator.runtime.timers import MachineTimer
    from ottla.events.stream import Stream
    from ottla.log.storage.contract import LogStorage, WrapStorage
    from ottla.protocol.errors import ErrorCode
    from ottla.protocol.primitives import Message
    from ottla.purgatory import Timer


class Faults:
    """The faults of one broker."""

    def __init__(self, cluster: Cluster, timer: Timer, services: Services, events: Stream, shared: Shared) -> None:
        #: Those that were not removed, by their numbers; spent ones among them.
        self.all: dict[int, Fault] = {}
        self._cluster = cluster
        self._surroundings = Surroundings(cluster, timer)
        self._services = services
        self._events = events
        self._shared = shared
        self._last_number = 0
        self._on_requests: list[Fault] = []
        self._on_connections: list[Fault] = []
        self._on_appends: list[Fault] = []
        self._on_group_appends: list[Fault] = []
        self._on_timers: list[Fault] = []
        self._on_failovers: list[Fault] = []
        #: What stood around storages before this did.
        self._former_wrap: WrapStorage | None = None

    # --- for who sets them ---

    def set(self, wish: Mapping[str, Any]) -> Fault:
        """Have something go wrong from now on: see `wish`. Raises `BadFault`."""
        return self._enter(read_fault(self._last_number + 1, wish, self._surroundings))

    def hold(self, wish: Mapping[str, Any]) -> Fault:
        """Have requests, or deadlines, held from now on. Raises `BadFault`."""
        fault = read_hold(self._last_number + 1, wish, self._surroundings)
        hold = hold_of(fault)
        tell_of(hold, fault, self._events)
        return self._enter(fault)

    def find(self, number: int) -> Fault:
        """The fault, or hold, with this number. Raises `BadFault`."""
        fault = self.all.get(number)
        if fault is None:
            raise BadFault(f"there is no fault {number}, or not any more")
        return fault

    def remove(self, number: int) -> None:
        """Have it happen no more, and let go what it holds. One that is removed already stays so."""
        fault = self.all.pop(number, None)
        if fault is None:
            return
        self._lay()
        for action in fault.actions:
            if isinstance(action, Action):
                action.removed()
            elif isinstance(action, Keeping):
                action.let_all_go()
        self._events.tell(Kind.FAULT_REMOVED, fault_id=number, fault=fault.text, hits=fault.hit_count)

    def clear(self) -> None:
        """Remove them all."""
        for number in list(self.all):
            self.remove(number)

    def _enter(self, fault: Fault) -> Fault:
        self._last_number = fault.number
        self.all[fault.number] = fault
        self._events.tell(Kind.FAULT_SET, fault_id=fault.number, fault=fault.text)
        self._lay()
        return fault

    # --- for connections ---

    def request(self, call: InterceptedCall) -> None:
        """A request has come: who is it hit by?"""
        hit = [fault for fault in self._on_requests if fault.takes(call)]
        if not hit:
            call.proceed()
            return
        for fault in hit:
            self._note(fault, self._hit_of(call))
        if any(fault.is_spent for fault in hit):
            self._lay()
        actions = [action for fault in hit for action in fault.actions if isinstance(action, Action)]
        call.kept = passage = Passage(call, actions)
        passage.go_on()

    def answer(self, call: InterceptedCall, response: Message | None) -> None:
        """Its answer is there."""
        passage: Passage | None = call.kept
        if passage is None:
            call.leave(response)
        else:
            passage.come_back(response)

    def _turn_away(self, connection: Connection) -> None:
        for fault in self._on_connections:
            if fault.aim.is_of_connection(connection) and not fault.is_spent and fault.times.happens():
                node_id = connection.node.node_id
                self._note(fault, self._hit(client_host=connection.client_host, node_id=node_id))
                (action,) = fault.actions
                assert isinstance(action, TurnAway)
                if action.is_reset:
                    connection.reset()
                else:
                    connection.close()
                self._lay()
                return

    # --- for logs ---

    def _hit_append(self, topic: str, index: int) -> FailAppend | None:
        for fault in self._on_appends:
            if fault.aim.is_of_topic(topic, index) and not fault.is_spent and fault.times.happens():
                self._note(fault, self._hit(topic=topic, partition=index))
                (action,) = fault.actions
                assert isinstance(action, FailAppend)
                return action
        return None

    def _hit_group_append(
        self, group_id: str, committed: Sequence[tuple[str, int]], real: GroupLog
    ) -> ErrorCode | None:
        for fault in self._on_group_appends:
            if fault.aim.is_of_group(group_id, committed) and not fault.is_spent and fault.times.happens():
                self._note(fault, self._hit(group_id=group_id))
                (action,) = fault.actions
                if isinstance(action, HoldAppends):
                    self._lay()
                    raise action.hold(group_id, real)
                assert isinstance(action, RefuseGroupAppend)
                return action.error
        return None

    # --- for deadlines ---

    def _keep_back_timer(self, node_id: int, owner: Owner[Any], timer: MachineTimer) -> bool:
        kind, member_id = owner.kind.describe_timer(timer.timer_key)
        return self._keep_back(
            self._on_timers,
            Reached(
                kind,
                happen=lambda: owner.post(timer),
                matters=lambda: owner.timers.get(timer.timer_key) is timer,
                node_id=node_id,
                group_id=owner.key,
                member_id=member_id,
            ),
        )

    def _keep_back_failover(self, node_id: int) -> bool:
        failover, node = self._services.failover, self._cluster.all_nodes[node_id]
        silence = failover.silence_of(node)
        return self._keep_back(
            self._on_failovers,
            Reached(
                FAILOVER,
                happen=lambda: failover.miss(node),
                matters=lambda: failover.silence_of(node) is silence,
                node_id=node_id,
            ),
        )

    def _keep_back(self, live: Sequence[Fault], reached: Reached) -> bool:
        for fault in live:
            (action,) = fault.actions
            assert isinstance(action, HoldDeadlines)
            is_aimed_at = fault.aim.is_of_deadline(reached.node_id, reached.group_id, reached.member_id)
            if not is_aimed_at or reached.kind not in action.kinds:
                fault.misses.append(f"{reached} was due")
            elif not fault.is_spent and fault.times.happens():
                fault.note(self._hit(node_id=reached.node_id, group_id=reached.group_id, member_id=reached.member_id))
                action.hold(reached)
                self._lay()
                return True
        return False

    # --- to stand around storages ---

    def _wrap(self, storage: LogStorage, topic: str, index: int) -> LogStorage:
        if self._former_wrap is not None:
            storage = self._former_wrap(storage, topic, index)
        return self._around(storage, topic, index)

    def _around(self, storage: LogStorage, topic: str, index: int) -> LogStorage:
        faulty: Any = FaultyStorage(storage, topic, index, self._hit_append)
        wrapped: LogStorage = faulty
        return wrapped

    # --- to step in, and out ---

    def _lay(self) -> None:
        """Stand wherever something may still happen, and nowhere else."""
        self._on_requests = self._lay_requests(self._live(Target.REQUEST))
        self._on_connections = self._live(Target.CONNECTION)
        self._shared.turn_away = self._turn_away if self._on_connections else None
        self._on_appends = self._lay_appends(self._live(Target.APPEND))
        self._on_group_appends = self._lay_group_appends(self._live(Target.GROUP_APPEND))
        self._on_timers = self._lay_timers(self._live(Target.TIMER))
        self._on_failovers = self._lay_failovers(self._live(Target.FAILOVER))

    def _live(self, target: Target) -> list[Fault]:
        return [fault for fault in self.all.values() if fault.target is target and not fault.is_spent]

    def _lay_requests(self, live: list[Fault]) -> list[Fault]:
        if bool(live) is not bool(self._on_requests):
            self._shared.routes.intercept(self if live else None)
        return live

    def _lay_appends(self, live: list[Fault]) -> list[Fault]:
        if bool(live) is not bool(self._on_appends):
            logs = self._cluster.logs
            if live:
                self._former_wrap, logs.wrap_storage = logs.wrap_storage, self._wrap
            else:
                logs.wrap_storage = self._former_wrap
            for log in logs.partitions:
                around = partial(self._around, topic=log.topic, index=log.index)
                log.put_around_storage(around if live else _real)
        return live

    def _lay_group_appends(self, live: list[Fault]) -> list[Fault]:
        if bool(live) is not bool(self._on_group_appends):
            self._services.group_coordination.put_around_log(self._around_group_log if live else _real_group_log)
        return live

    def _lay_timers(self, live: list[Fault]) -> list[Fault]:
        if bool(live) is not bool(self._on_timers):
            for node_id, coordinator in self._services.group_coordination.of_node.items():
                coordinator.runtime.keep_back = partial(self._keep_back_timer, node_id) if live else None
        return live

    def _lay_failovers(self, live: list[Fault]) -> list[Fault]:
        if bool(live) is not bool(self._on_failovers):
            self._services.failover.keep_back = self._keep_back_failover if live else None
        return live

    def _around_group_log(self, real: GroupLog) -> GroupLog:
        return FaultyGroupLog(real, self._hit_group_append)

    # --- to tell ---

    def _hit(self, **what: Any) -> Hit:
        return Hit(self._events.now_ms(), self._cluster.wall_ms(), **what)

    def _hit_of(self, call: InterceptedCall) -> Hit:
        topic, index = next(topics(call), (None, None))
        return self._hit(
            api=call.route.name,
            api_version=call.api_version,
            client_id=call.client_id,
            client_host=call.client_host,
            node_id=call.node.node_id,
            group_id=next(values(call, "group"), None),
            member_id=next(values(call, "member"), None),
            topic=topic,
            partition=index,
            request=call.request,
        )

    def _note(self, fault: Fault, hit: Hit) -> None:
        fault.note(hit)
        self._events.tell(
            Kind.FAULT_HIT,
            node_id=hit.node_id,
            fault_id=fault.number,
            fault=fault.text,
            api=hit.api,
            client_id=hit.client_id,
            group_id=hit.group_id,
            member_id=hit.member_id,
            topic=hit.topic,
            partition=hit.partition,
        )


def hold_of(fault: Fault) -> Keeping[Any]:
    """What a hold holds with. Raises `BadFault` if it is no hold."""
    for action in fault.actions:
        if isinstance(action, Keeping):
            return action
    raise BadFault(f"{fault} holds nothing")


def is_hold(fault: Fault) -> bool:
    """Whether it holds what it is aimed at."""
    return any(isinstance(action, Keeping) for action in fault.actions)


def _real(storage: LogStorage) -> LogStorage:
    return storage.real if isinstance(storage, FaultyStorage) else storage


def _real_group_log(log: GroupLog) -> GroupLog:
    return log.real if isinstance(log, FaultyGroupLog) else log
