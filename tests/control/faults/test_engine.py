"""What a fault keeps, what it tells, and that nobody stands in the way while there is none."""

from __future__ import annotations

import struct
from functools import partial
from typing import Any

from ottla.control.faults.fault import HITS_KEPT_MAX
from ottla.events.kind import KINDS
from ottla.events.stream import Event
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from tests.control.faults.scene import fault, faults_of, heartbeat, hold
from tests.support.client import Client
from tests.support.running_broker import RunningBroker

HEARTBEAT = struct.pack(">hh", 12, 0)


def is_in_the_way(broker: RunningBroker) -> bool:
    """Whether requests go anywhere but straight to their handlers."""
    route = broker.server.shared.routes.find(HEARTBEAT)
    return route.handle is not route.handler


def turns_away(broker: RunningBroker) -> bool:
    """Whether those who connect are looked at."""
    return broker.server.shared.on_connected is not None


def test_nobody_stands_in_the_way_before_and_after(broker: RunningBroker, client: Client) -> None:
    """Neither when the last fault is removed, nor when it is spent; spent ones keep their hits."""
    assert not is_in_the_way(broker)
    first, second = fault(broker, api="Heartbeat", throttle=0, once=True), fault(broker, node=2, turn_away=True)
    assert is_in_the_way(broker)
    assert turns_away(broker)
    client.ask(heartbeat(), 0)
    assert not is_in_the_way(broker)
    assert (first.is_spent, first.hit_count) == (True, 1)
    third = hold(broker, api="Heartbeat")
    assert is_in_the_way(broker)
    faults = faults_of(broker)
    for one in (second, third, first):
        broker.look(partial(faults.remove, one.number))
    assert not is_in_the_way(broker)
    assert not turns_away(broker)
    assert faults.all == {}


def test_hits_are_kept_with_what_they_were(broker: RunningBroker, client: Client) -> None:
    broker.advance(5)
    hit = fault(broker, api="Heartbeat", group="g", throttle=0)
    client.ask(heartbeat("g", "bo"), 3)
    (kept,) = hit.hits
    assert (kept.api, kept.api_version, kept.client_id, kept.client_host) == ("Heartbeat", 3, "ana", "/127.0.0.1")
    assert (kept.node_id, kept.group_id, kept.member_id, kept.topic) == (1, "g", "bo", None)
    assert kept.request == heartbeat("g", "bo")
    assert kept.now_ms == broker.look(broker.server.clock.now_ms)


def test_hits_are_bounded_and_all_are_counted(broker: RunningBroker, client: Client) -> None:
    hit = fault(broker, api="Heartbeat", throttle=0)
    for _ in range(HITS_KEPT_MAX + 5):
        client.send(heartbeat(), 0)
    for _ in range(HITS_KEPT_MAX + 5):
        client.receive()
    assert (hit.hit_count, len(hit.hits)) == (HITS_KEPT_MAX + 5, HITS_KEPT_MAX)


def test_stream_tells_of_all_of_it(broker: RunningBroker, client: Client) -> None:
    """Set, hit, held, let go, removed: in order, with who and what."""
    told: list[Event] = []
    of_faults = [kind for kind in KINDS.values() if kind.name.startswith(("fault.", "request.held", "request.let_go"))]
    stop = broker.look(lambda: broker.server.parts.events.read(told.append, of_faults))
    one = fault(broker, api="Heartbeat", throttle=0, once=True)
    holding = hold(broker, api="Heartbeat", group="g")
    client.send(heartbeat("g", "bo"), 0)
    broker.wait_until("it is held", lambda: holding.hit_count)
    broker.look(faults_of(broker).clear)
    client.receive()
    broker.look(stop)

    def said(event: Event, *keys: str) -> tuple[Any, ...]:
        return (event.kind.name, *(event.details.get(key) for key in keys))

    assert [said(event, "fault_id") for event in told] == [
        ("fault.set", one.number),
        ("fault.set", holding.number),
        ("fault.hit", one.number),
        ("fault.hit", holding.number),
        ("request.held", holding.number),
        ("fault.removed", one.number),
        ("request.let_go", holding.number),
        ("fault.removed", holding.number),
    ]
    assert said(told[2], "fault", "api", "client_id", "group_id", "member_id")[1:] == (
        "Heartbeat: throttle_time_ms 0, once",
        "Heartbeat",
        "ana",
        "g",
        "bo",
    )
    assert said(told[4], "number", "at")[1:] == (1, "request")
    assert said(told[6], "how")[1:] == ("let go",)


def test_aim_without_words_is_at_everything(broker: RunningBroker, client: Client) -> None:
    every = fault(broker, throttle=0, every=2)
    for _ in range(4):
        client.ask(ApiVersionsRequest(), 0)
    assert (str(every), every.hit_count) == (f"fault {every.number} (everything: throttle_time_ms 0, every 2.)", 2)
