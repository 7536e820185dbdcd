"""The table of what faults can happen to: each row installs its hook and takes it away; a new target is one row."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.control.faults import engine
from ottla.control.faults.exchange import Action
from ottla.control.faults.misuse import BadFault
from ottla.control.faults.occurrence import Happens, Occurrence, Remove
from ottla.control.faults.targets import TARGETS, Seams, Target
from ottla.control.faults.verbs import VERBS, Verb
from tests.control.faults.scene import fault
from tests.support.running_broker import RunningBroker


def seams(broker: RunningBroker) -> Seams:
    server = broker.server
    return Seams(server.cluster, server.timer, server.services, server.shared, broker.controlled.faults)


def hooked(broker: RunningBroker) -> list[Any]:
    """All that hooks change in the broker."""
    server, services = broker.server, broker.server.services
    coordinators = [coordinator.runtime for one in services.coordinations for coordinator in one.of_node.values()]
    return [
        server.shared.routes._interceptor,
        server.shared.on_connected,
        server.cluster.logs.wrap_storage,
        *(log._storage for log in server.cluster.logs.partitions),
        services.failover.keep_back,
        *services.on_coordination,
        *((runtime.keep_back, runtime._with.log) for runtime in coordinators),
    ]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_hook_is_installed_and_leaves_nothing_behind(broker: RunningBroker, target: Target) -> None:
    _ = broker.look(
        lambda: (broker.server.services.group_coordination, broker.server.services.transaction_coordination)
    )
    before = broker.look(lambda: hooked(broker))
    remove = broker.look(lambda: target.install(seams(broker), lambda _occurrence: None))
    assert broker.look(lambda: hooked(broker)) != before
    broker.look(remove)
    assert broker.look(lambda: hooked(broker)) == before


class Ring(Action):
    """What a fault does to a bell."""

    text = "ring"


def test_a_further_row_is_all_that_a_further_target_needs(
    broker: RunningBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a verb, it is aimed at, counted, told and spent as any other."""
    installed: list[Happens[Ring]] = []

    def install(_seams: Seams, happens: Happens[Ring]) -> Remove:
        installed.append(happens)
        return installed.clear

    bell = Target("a bell", install, {"node"})
    monkeypatch.setattr(engine, "TARGETS", (*TARGETS, bell))
    monkeypatch.setitem(VERBS, "ring", Verb((), lambda seams, aim: Ring(), lambda aim: bell, frozenset()))
    with pytest.raises(BadFault, match="a bell has no topic to aim at; it has node"):
        fault(broker, topic="orders", ring=True)
    ringing = fault(broker, node=2, ring=True, once=True)
    (happens,) = installed
    assert happens(Occurrence("the bell of node 1", node_id=1)) is None
    happened = happens(Occurrence("the bell of node 2", node_id=2))
    assert happened is not None
    assert (happened[0].text, happened[1].node_id, ringing.hit_count, ringing.is_spent) == ("ring", 2, 1, True)
    assert installed == []
    assert list(ringing.misses) == ["the bell of node 1"]
