"""A kind of group that nothing in Ottla names shows up in all that looks at groups or changes them: rotas.

One folder (`tests/coordinator/rota`) and one row are all that there is of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from ottla.control.attached.controlled_broker import ControlledBroker
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.delete_groups import DeleteGroupsRequest
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.list_groups import ListGroupsRequest
from ottla.testing import Broker, ChangeRefused, NotInTime
from ottla.testing.trace.of_file import read_traces
from tests.cli.script import Script
from tests.cli.terminal import ottla
from tests.coordinator.rota import row
from tests.coordinator.rota.machine import BeatRequested, EnlistRequested
from tests.support.client import Client
from tests.support.patience import PATIENCE_SECONDS

registered = row.registered


class Answered:
    """A token that another thread can wait for."""

    def __init__(self) -> None:
        self._future: Future[Any] = Future()

    def answer(self, response: Any, /) -> None:
        self._future.set_result(response)

    @property
    def error(self) -> ErrorCode:
        return ErrorCode(self._future.result(PATIENCE_SECONDS))


class Controlled:
    """The control API of a broker."""

    def __init__(self, kafka: Broker) -> None:
        self.control = (kafka.control_url or "").removeprefix("http://")


@pytest.fixture
def kafka(registered: None, tmp_path: Path) -> Iterator[Broker]:
    settings = {"offsets.topic.num.partitions": 1}
    journal = tmp_path / "journal.jsonl"
    with Broker(nodes=2, clock="virtual", settings=settings, control="127.0.0.1:0", journal=journal) as broker:
        broker.topic("orders").create(partitions=2)
        broker.group("simple").commit("orders", 0, 0)  # now there is a coordinator
        yield broker


def submit(kafka: Broker, event: Any) -> Answered:
    """Give a request to the rota's coordinator, as a handler would."""
    token = event.token = Answered()

    def at(broker: ControlledBroker) -> None:
        coordinators = broker.server.services.group_coordination.of_node.values()
        (coordinator,) = [one for one in coordinators if one.runtime.state_of(0) is not None]
        coordinator.submit("washing up", event)

    kafka.look(at)
    return token


def enlist(kafka: Broker, member_id: str) -> Answered:
    return submit(kafka, EnlistRequested(None, member_id, "orders"))  # type: ignore[arg-type]


def beat(kafka: Broker, member_id: str) -> ErrorCode:
    return submit(kafka, BeatRequested(None, member_id)).error  # type: ignore[arg-type]


def ana_and_bo(kafka: Broker) -> None:
    """Two members in generation 2, whose turn it is ana's."""
    assert enlist(kafka, "ana").error is ErrorCode.NONE
    bo = enlist(kafka, "bo")
    assert beat(kafka, "ana") is ErrorCode.NONE
    assert bo.error is ErrorCode.NONE


def test_it_is_looked_at(kafka: Broker) -> None:
    """State, members, assignment, lag, what no member was given, and what it waits for."""
    ana_and_bo(kafka)
    kafka.topic("orders").produce("soup", partition=0)
    rota = kafka.group("washing up")
    rota.commit("orders", 0, 0)
    assert str(rota) == "group washing up is Stable in generation 2, with 2 members: ana, bo"
    assert [dict(member.assignment) for member in rota.members] == [{"orders": (0,)}, {}]
    assert rota.lag == {("orders", 0): 1, ("orders", 1): 0}
    assert (rota.look().unassigned, rota.look().waits_for) == ((("orders", 1),), None)
    enlist(kafka, "cy")
    waits_for = rota.look().waits_for
    assert (str(waits_for), waits_for and waits_for.member_ids) == ("a beat of ana, bo", ("ana", "bo"))


def test_it_is_waited_for(kafka: Broker) -> None:
    """By the names of its own states; while it hands over the broker is not idle."""
    enlist(kafka, "ana")
    rota = kafka.group("washing up")
    rota.wait_for(state="Stable", members=1, generation=1)
    enlist(kafka, "bo")
    rota.wait_for(state="Handover")
    with pytest.raises(NotInTime, match="group washing up is Handover in generation 2"):
        kafka.wait_until_idle(timeout_s=0.01)
    with pytest.raises(ValueError, match="no group is ever Handovr"):
        rota.wait_for(state="Handovr")
    kafka.advance(3_000)
    rota.wait_for(state="Stable")
    kafka.wait_until_idle()


def test_a_hand_ends_sessions_removes_members_and_calls_them_back(kafka: Broker) -> None:
    ana_and_bo(kafka)
    rota = kafka.group("washing up")
    assert rota.expire("an*") == ["ana"]
    assert beat(kafka, "ana") is ErrorCode.UNKNOWN_MEMBER_ID
    rota.force_rebalance(reason="tuesday")
    assert rota.state == "Handover"
    assert rota.evict("bo", reason="too slow") == ["bo"]
    assert (rota.state, rota.members) == ("Empty", ())
    with pytest.raises(ChangeRefused, match="rota washing up has no members to call"):
        rota.force_rebalance()
    causes = {"enlisted": 2, "silent": 1, "called": 1, "dismissed": 1}
    for cause, count in causes.items():
        rota.assert_rebalances(because=cause, exactly=count)
    kafka.assert_never("group.member.removed", group="washing up", member="bo", cause="silent")
    with pytest.raises(ValueError, match="there is no cause of a rebalance called 'enlistd'"):
        rota.assert_rebalances(because="enlistd")


def test_it_moves_to_another_node(kafka: Broker) -> None:
    """Which reads its records."""
    ana_and_bo(kafka)
    rota = kafka.group("washing up")
    former = rota.look().coordinator
    to = 2 if former == 1 else 1
    rota.move_coordinator(to=to)
    view = rota.wait_for(lambda group: group.coordinator == to)
    ids = [member.member_id for member in view.members]
    assert (view.state, view.generation_id, ids) == ("Stable", 2, ["ana", "bo"])
    assert beat(kafka, "bo") is ErrorCode.NONE


def test_its_timers_are_held(kafka: Broker) -> None:
    """By its own words: ana stays in the rota until the hold lets her turn's timer go."""
    ana_and_bo(kafka)
    hold = kafka.hold(timer="turn", group="washing up", member="ana")
    kafka.advance(10_000)
    held = hold.wait()
    assert repr(held) == "turn of ana of washing up, held"
    assert [member.member_id for member in kafka.group("washing up").members] == ["ana"]
    held.let_go()
    assert kafka.group("washing up").state == "Empty"


def test_its_appends_are_held(kafka: Broker) -> None:
    """What it writes waits, and with it the answer to the member."""
    hold = kafka.hold(append="__consumer_offsets", group="washing up")
    ana = enlist(kafka, "ana")
    held = hold.wait()
    assert kafka.group("washing up").state == "Handover"
    held.let_go()
    hold.end()
    assert ana.error is ErrorCode.NONE
    kafka.group("washing up").wait_for(state="Stable")


def test_its_deadlines_are_told_by_its_own_words(kafka: Broker) -> None:
    """And one of them is reached: a silent member has no turns."""
    ana_and_bo(kafka)
    assert str(kafka.next_deadline(group="washing up")) == "turn of ana of washing up in 10000 ms"
    enlist(kafka, "cy")
    assert str(kafka.next_deadline(kind="handover")) == "handover of washing up in 3000 ms"
    kafka.advance(10_000)
    assert kafka.group("washing up").state == "Empty"


def test_it_is_counted(kafka: Broker) -> None:
    """Among the groups; its timers wait in a purgatory of its own."""
    ana_and_bo(kafka)
    counters = Script(Controlled(kafka)).get("/counters")
    of_rotas = [purgatory for purgatory in counters["purgatories"] if purgatory["name"] == "Rota"]
    assert counters["groups"] == 2
    assert [purgatory["node_id"] for purgatory in of_rotas] == [1, 2]
    assert sum(purgatory["delayed"] for purgatory in of_rotas) == 2


def test_scripts_see_it_and_do_to_it_what_they_do_to_others(kafka: Broker) -> None:
    ana_and_bo(kafka)
    script = Script(Controlled(kafka))
    rota, _ = sorted(script.get("/groups")["groups"], key=lambda group: group["group_id"] != "washing up")
    assert (rota["state"], rota["generation_id"], rota["protocol_type"]) == ("Stable", 2, "rota")
    assert [member["member_id"] for member in rota["members"]] == ["ana", "bo"]
    assert (rota["last_rebalance"]["cause"], rota["last_rebalance"]["member_id"]) == ("enlisted", "bo")
    assert script.get("/groups/washing%20up")["members"][0]["assignment"] == {"orders": [0]}
    asked = json.dumps({"group_id": "washing up", "member": "bo"}).encode()
    assert script.ask("POST", "/groups/evict", asked) == (200, {"member_ids": ["bo"]})
    asked = json.dumps({"group": "washing up", "state": "Handover"}).encode()
    assert script.ask("POST", "/wait", asked)[0] == 200
    asked = json.dumps({"group_id": "washing up", "state": "Stable", "limit_ms": 3_000}).encode()
    assert script.ask("POST", "/clock/advance_until", asked)[1]["moved_ms"] == 3_000


def test_it_is_in_a_snapshot(kafka: Broker) -> None:
    """And comes back out of its records, with what it has committed."""
    ana_and_bo(kafka)
    rota = kafka.group("washing up")
    rota.commit("orders", 1, 7)
    before = kafka.snapshot()
    rota.evict("*")
    kafka.restore(before)
    assert str(rota) == "group washing up is Stable in generation 2, with 2 members: ana, bo"
    assert rota.committed == {("orders", 1): 7}


def test_it_is_there_after_a_restart(registered: None, tmp_path: Path) -> None:
    settings = {"offsets.topic.num.partitions": 1}
    with Broker(data_dir=tmp_path, settings=settings) as kafka:
        kafka.topic("orders").create()
        kafka.group("simple").commit("orders", 0, 0)
        ana_and_bo(kafka)
    with Broker(data_dir=tmp_path, settings=settings) as kafka:
        rota = kafka.group("washing up").wait_for(state="Stable")
        assert [member.member_id for member in rota.members] == ["ana", "bo"]
        assert beat(kafka, "ana") is ErrorCode.NONE


def test_its_story_is_told(kafka: Broker, tmp_path: Path) -> None:
    """In the timeline, in the journal, and in the trace."""
    ana_and_bo(kafka)
    kafka.group("washing up").evict("ana", reason="too slow")
    told = [moment.said for moment in kafka.timeline.of(group="washing up")]
    assert told == [
        "created by a join",
        "joined: ana at /rota",
        "rebalance started: enlisted",
        "generation 1 is assigned",
        "joined: bo at /rota",
        "rebalance started: enlisted",
        "generation 2 is assigned",
        'removed: dismissed ("too slow")',
        'rebalance started: dismissed ("too slow")',
    ]
    kafka.stop()
    lines = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert [line["cause"] for line in lines if line["event"] == "group.rebalance.started"] == [
        "enlisted",
        "enlisted",
        "dismissed",
    ]
    assert ottla("trace", "journal.jsonl", cwd=tmp_path).returncode == 0
    (trace,) = read_traces(tmp_path / "journal.html")
    assert {event["group_id"] for event in trace["events"]} == {"simple", "washing up"}


def test_clients_list_it_and_delete_it(kafka: Broker) -> None:
    """By its type. DescribeGroups is for classic groups, to which it is none."""
    ana_and_bo(kafka)
    coordinator = kafka.group("washing up").look().coordinator
    bootstrap = kafka.bootstrap_servers.split(",")[(coordinator or 0) - 1]
    with Client(bootstrap) as client:
        (listed,) = client.ask(ListGroupsRequest([], ["Rota"]), 5).groups
        assert (listed.group_id, listed.protocol_type, listed.group_state, listed.group_type) == (
            "washing up",
            "rota",
            "Stable",
            "rota",
        )
        (described,) = client.ask(DescribeGroupsRequest(["washing up"]), 6).groups
        assert (described.error_code, described.error_message, described.group_state) == (
            ErrorCode.GROUP_ID_NOT_FOUND,
            "Group washing up is not a classic group.",
            "Dead",
        )
        (deleted,) = client.ask(DeleteGroupsRequest(["washing up"]), 2).results
        assert deleted.error_code == ErrorCode.NONE
    assert kafka.group("washing up").state == "Dead"


def test_the_command_line_lists_it(kafka: Broker) -> None:
    """Its type, offsets and lag; states of other than classic groups are unknown there, of whatever Kafka."""
    ana_and_bo(kafka)
    kafka.group("washing up").commit("orders", 0, 0)
    listed = ottla("groups", "list", "--bootstrap-server", kafka.bootstrap_servers)
    (line,) = [line for line in listed.stdout.splitlines() if line.startswith("washing up")]
    assert line.split()[2:5] == ["-", "rota", "-"]
    described = ottla("groups", "describe", "washing up", "--bootstrap-server", kafka.bootstrap_servers)
    assert described.stdout.splitlines()[-1].split() == ["orders", "0", "0", "0", "0", "-"]
