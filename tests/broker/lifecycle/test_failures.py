"""When something of ours goes wrong it hurts as few as possible: nobody is left waiting, and the log has the traceback.

Each test breaks the broker on purpose.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ottla.broker.delayed import fetch as delayed_fetch
from ottla.broker.handlers import describe_cluster, metadata, produce
from ottla.broker.internal import loading
from ottla.broker.internal.log import InternalLog
from ottla.coordinator.classic import step
from ottla.coordinator.classic.events import HeartbeatRequested
from ottla.coordinator.classic.group import Group
from ottla.coordinator.classic.heartbeat import heartbeat
from ottla.coordinator.classic.members import refuse_join
from ottla.coordinator.runtime.effects import Effect
from ottla.coordinator.runtime.events import Loaded
from ottla.coordinator.runtime.runtime import Runtime
from ottla.events.kind import Kind
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.describe_cluster import DescribeClusterRequest
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.metadata import MetadataRequest, MetadataResponse
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.messages.sync_group import SyncGroupRequest
from ottla.purgatory import VirtualClock
from tests.coordinator.actors import classic
from tests.support.batches import batch
from tests.support.client import API, Client
from tests.support.running_broker import RunningBroker
from tests.support.wire import ConnectionClosedError

EVERYTHING = MetadataRequest(topics=None)


def fails(*_args: object, **_keys: object) -> Any:
    raise ZeroDivisionError("on purpose")


def runs_out_of_memory(*_args: object, **_keys: object) -> Any:
    raise MemoryError


def produce_request(acks: int) -> ProduceRequest:
    data = ProduceRequest.PartitionProduceData(0, batch())
    return ProduceRequest(None, acks, 1000, [ProduceRequest.TopicProduceData("orders", partition_data=[data])])


def test_handler_that_raises_is_answered_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka's unknown server error for each thing asked about; the connection stays, and so do the others."""
    monkeypatch.setattr(metadata, "handle", fails)
    with RunningBroker(may_fail=True) as broker, Client(broker.bootstrap) as ana, Client(broker.bootstrap) as bo:
        answer = ana.ask(MetadataRequest([MetadataRequest.MetadataRequestTopic(name="orders")]), 12)
        assert [topic.error_code for topic in answer.topics] == [ErrorCode.UNKNOWN_SERVER_ERROR]
        for client in (ana, bo):
            assert client.ask(DescribeClusterRequest(), 1).error_code == ErrorCode.NONE
        (failed,) = broker.log.named("request.failed")
        assert (failed["api"], failed["api_version"]) == ("Metadata", 12)
        assert "on purpose" in failed["traceback"]
        assert not broker.loop_errors


def test_answer_that_cannot_be_written_is_answered_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number too large for its field, say. What was asked behind it is answered as ever."""
    monkeypatch.setattr(metadata, "handle", lambda _request, _call: MetadataResponse(controller_id=2**40))
    with RunningBroker(may_fail=True) as broker, Client(broker.bootstrap) as ana:
        ana.send(EVERYTHING, 13)
        ana.send(DescribeClusterRequest(), 1)
        assert ana.receive().message.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert ana.receive().message.error_code == ErrorCode.NONE
        assert len(broker.failures) == 1


def test_connection_closes_when_even_the_refusal_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Better than to leave the client waiting; the log says which API it was."""
    monkeypatch.setattr(metadata, "handle", fails)
    monkeypatch.setattr(metadata, "refuse", fails)
    with RunningBroker(may_fail=True) as broker, Client(broker.bootstrap) as ana, Client(broker.bootstrap) as bo:
        with pytest.raises(ConnectionClosedError):
            ana.ask(EVERYTHING, 12)
        assert broker.refusals == ["Metadata v12 cannot be answered: on purpose"]
        assert bo.ask(DescribeClusterRequest(), 1).error_code == ErrorCode.NONE


def test_produce_without_acks_that_fails_closes_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """It must not be answered, so this is all that can be said. Kafka: ProduceRequest.getErrorResponse is null."""
    monkeypatch.setattr(produce, "handle", fails)
    with RunningBroker(may_fail=True) as broker, Client(broker.bootstrap) as ana, Client(broker.bootstrap) as bo:
        answered = bo.ask(produce_request(acks=1), 9).responses[0].partition_responses
        assert [partition.error_code for partition in answered] == [ErrorCode.UNKNOWN_SERVER_ERROR]
        ana.send(produce_request(acks=0), 9)
        ana.expect(API["Produce"], 9, correlation_id=1)
        with pytest.raises(ConnectionClosedError):
            ana.receive()
        assert len(broker.refusals) == 1


def test_handler_that_cannot_be_imported_closes_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is missing, or a process out of file descriptors. Once that is over, the API is there."""
    with RunningBroker(may_fail=True) as broker, Client(broker.bootstrap) as bo:
        with monkeypatch.context() as broken, Client(broker.bootstrap) as ana:
            broken.setitem(sys.modules, describe_cluster.__name__, None)
            with pytest.raises(ConnectionClosedError):
                ana.ask(DescribeClusterRequest(), 1)
        (failed,) = broker.log.named("connection.failed")
        assert "ModuleNotFoundError" in failed["traceback"]
        assert not broker.loop_errors
        assert bo.ask(DescribeClusterRequest(), 1).error_code == ErrorCode.NONE


def test_parked_answer_that_fails_is_answered_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fetch that waited for its bytes, and reading them goes wrong."""
    with RunningBroker(may_fail=True, clock=VirtualClock()) as broker, Client(broker.bootstrap) as ana:
        ana.ask(CreateTopicsRequest([CreateTopicsRequest.CreatableTopic("orders", 1, 1)], 1000), 7)
        wanted = FetchRequest.FetchPartition(0, fetch_offset=0, partition_max_bytes=1000)
        fetch = FetchRequest(
            max_wait_ms=500, min_bytes=1, topics=[FetchRequest.FetchTopic("orders", partitions=[wanted])]
        )
        ana.send(fetch, 12)
        broker.wait_until("the fetch waits", lambda: broker.server.services.delayed_operations.fetch.delayed)
        monkeypatch.setattr(delayed_fetch, "read_partitions", fails)
        broker.advance(500)
        assert ana.receive().message.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert len(broker.failures) == 1


def test_too_long_a_text_in_an_answer_is_the_clients_fault() -> None:
    """A group id of 32,767 bytes is fine, but not within a sentence: Kafka fails at it too, and answers the same."""
    with RunningBroker() as broker, Client(broker.bootstrap) as ana:
        group_id = "g" * 32_767
        ana.ask(FindCoordinatorRequest(group_id, 0), 2)
        (group,) = ana.ask(DescribeGroupsRequest([group_id]), 6).groups
        assert (group.error_code, group.group_id) == (ErrorCode.UNKNOWN_SERVER_ERROR, group_id)
        (refused,) = broker.log.named("request.refused")
        assert (refused["api"], refused["api_version"]) == ("DescribeGroups", 6)


def test_text_that_grows_when_it_is_read_closes_the_connection() -> None:
    """Each byte that is not UTF-8 is read as a character of three, and no answer can name what was asked about.

    Kafka throws twice, and leaves the client waiting.
    """
    with RunningBroker() as broker, Client(broker.bootstrap) as ana:
        name = b"\xff" * 20_000
        body = (1).to_bytes(4) + len(name).to_bytes(2) + name
        ana.send_body(API["Metadata"], 1, body)
        with pytest.raises(ConnectionClosedError):
            ana.receive()
        (reason,) = broker.refusals
        assert reason.startswith("Metadata v1 cannot be answered: ")


class TestGroup:
    """A group whose core raises can't be trusted: it is read anew from its log, and nobody waits in vain."""

    @pytest.fixture
    def broker(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        """Heartbeats of the member "poison" make the core fail, after it has answered somebody else."""
        handled: dict[type, Callable[..., None]] = vars(step)["_EVENTS"]

        def poisoned(group: Group, now_ms: int, event: Any, effects: list[Effect]) -> None:
            if event.request.member_id == "poison":
                for member in group.members.values():
                    refuse_join(group, member, ErrorCode.REBALANCE_IN_PROGRESS, "", effects)
                fails()
            heartbeat(group, now_ms, event, effects)

        monkeypatch.setitem(handled, HeartbeatRequested, poisoned)
        with RunningBroker(may_fail=True, settings={"offsets.topic.num.partitions": 1}) as running:
            yield running

    def test_whoever_waits_is_answered_and_others_go_on(self, broker: RunningBroker) -> None:
        """The request that did it is answered as in Kafka; also the join that the core believed to be answered."""
        with Client(broker.bootstrap) as ana, Client(broker.bootstrap) as bo, Client(broker.bootstrap) as cy:
            self.join(ana, "sick")
            self.join(cy, "sound")
            bo.send(self.join_request("sick"), 3)
            broker.wait_until(
                "Bo waits for Ana", lambda: [g for g in broker.coordinator.groups if classic(g).rebalance]
            )
            poison, well = HeartbeatRequest("sick", 1, "poison"), HeartbeatRequest("sick", 1, "well")
            for request in (poison, well, poison):
                ana.send(request, 3)
            answered = [ana.receive().message.error_code for _ in range(3)]
            assert answered[0] == ErrorCode.UNKNOWN_SERVER_ERROR
            assert bo.receive().message.error_code == ErrorCode.REBALANCE_IN_PROGRESS
            assert cy.ask(HeartbeatRequest("sound", 1, self.member_ids["sound"]), 3).error_code == ErrorCode.NONE
        (failed,) = broker.log.named("group.failed")
        assert (failed["group_id"], failed["reason"]) == ("sick", "ZeroDivisionError: on purpose")
        assert "on purpose" in failed["traceback"]
        assert not broker.loop_errors

    def test_it_is_there_again_as_its_log_has_it(self, broker: RunningBroker) -> None:
        """Its member goes on in its generation, and what it has committed counts."""
        with Client(broker.bootstrap) as ana:
            ana.ask(CreateTopicsRequest([CreateTopicsRequest.CreatableTopic("orders", 1, 1)], 1000), 7)
            self.join(ana, "sick")
            self.join(ana, "sound")
            self.join(ana, "sick too")
            for group_id, offset in (("sick", 5), ("sick too", 6), ("sound", 7)):
                assert self.commit(ana, group_id, offset) == ErrorCode.NONE
            assert ana.ask(HeartbeatRequest("sick", 1, "poison"), 3).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
            broker.wait_until("it is there again", lambda: broker.log.named("group.recovered"))
            assert ana.ask(HeartbeatRequest("sick", 1, self.member_ids["sick"]), 3).error_code == ErrorCode.NONE
            assert [self.committed(ana, group_id) for group_id in ("sick", "sick too", "sound")] == [5, 6, 7]
            assert self.commit(ana, "sick", 8) == ErrorCode.NONE

    def test_one_that_fails_again_and_again_is_read_later_and_later(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """At once, then after two seconds, four, eight: meanwhile its clients are told to wait. One line says why."""

        def fails_to_load(*_arguments: object) -> None:
            fails()

        with (
            RunningBroker(may_fail=True, clock=VirtualClock()) as broker,
            Client(broker.bootstrap) as ana,
        ):
            self.join(ana, "sick")
            with monkeypatch.context() as broken:
                broken.setitem(vars(step)["_EVENTS"], Loaded, fails_to_load)
                broken.setitem(vars(step)["_EVENTS"], HeartbeatRequested, fails_to_load)
                assert ana.ask(HeartbeatRequest("sick", 1, "any"), 3).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
                broker.advance(1_999)
                assert ana.ask(self.join_request("sick"), 3).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
                broker.advance(1)
            broker.advance(3_999)
            assert ana.ask(self.join_request("sick"), 3).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            broker.advance(1)
            heartbeat = HeartbeatRequest("sick", 1, self.member_ids["sick"])
            assert ana.ask(heartbeat, 3).error_code == ErrorCode.NONE
            assert len(broker.log.named("group.failed")) == 1

    def test_a_log_that_cannot_be_read_is_read_later(
        self, broker: RunningBroker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Reading the group anew fails for a reason of its own, which is told too."""
        with Client(broker.bootstrap) as ana:
            self.join(ana, "sick")
            with monkeypatch.context() as broken:
                broken.setattr(loading, "read_records", runs_out_of_memory)
                assert ana.ask(HeartbeatRequest("sick", 1, "poison"), 3).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
                broker.wait_until("it was read", lambda: len(broker.log.named("group.failed")) > 1)
            heartbeat = HeartbeatRequest("sick", 1, self.member_ids["sick"])
            broker.wait_until("it is there again", lambda: broker.coordinator.groups)
            assert ana.ask(heartbeat, 3).error_code == ErrorCode.NONE
            reasons = [failed["reason"] for failed in broker.log.named("group.failed")]
            assert reasons == ["ZeroDivisionError: on purpose", "MemoryError: "]

    def test_bringing_it_to_life_may_fail_too(self, broker: RunningBroker, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is read again, and so is another one meanwhile."""
        new_owner = Runtime._new_owner

        def fails_once(*_arguments: object) -> Any:
            monkeypatch.setattr(Runtime, "_new_owner", new_owner)
            fails()

        with Client(broker.bootstrap) as ana:
            self.join(ana, "sick")
            self.join(ana, "sick too")
            monkeypatch.setattr(Runtime, "_new_owner", fails_once)
            for group_id in ("sick", "sick too"):
                poison = HeartbeatRequest(group_id, 1, "poison")
                assert ana.ask(poison, 3).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
            broker.wait_until("both are there again", lambda: len(broker.coordinator.groups) == 2)
            for group_id, member_id in self.member_ids.items():
                assert ana.ask(HeartbeatRequest(group_id, 1, member_id), 3).error_code == ErrorCode.NONE

    def test_who_hears_of_a_group_cannot_harm_it(self) -> None:
        """A journal that fails at a line, say: the other readers hear of it, and the join is answered."""
        with RunningBroker(may_fail=True) as broker, Client(broker.bootstrap) as ana:
            heard: list[str] = []
            for reader in (fails, lambda event: heard.append(event.details["group_id"])):
                broker.look(partial(broker.server.events.read, reader, [Kind.GROUP_MEMBER_JOINED]))
            self.join(ana, "sound")
            assert heard == ["sound"]
            assert not broker.log.named("group.failed")
            (failed,) = broker.log.named("reader.failed")
            assert (failed["kind"], failed["reason"]) == ("group.member.joined", "ZeroDivisionError: on purpose")

    def test_nothing_of_it_is_left(self, broker: RunningBroker) -> None:
        """One task, and one timer of its member's session: those of the group that was read anew."""
        with Client(broker.bootstrap) as ana:
            self.join(ana, "sick")
            before = broker.look(lambda: set(broker.server.parts.tasks._tasks))
            assert broker.look(lambda: broker.coordinator.runtime.purgatories["Heartbeat"].delayed) == 1
            ana.ask(HeartbeatRequest("sick", 1, "poison"), 3)
            broker.wait_until("it is there again", lambda: broker.log.named("group.recovered"))
            broker.wait_until("all is settled", lambda: broker.server.services.is_settled)
            assert broker.look(lambda: broker.coordinator.runtime.purgatories["Heartbeat"].delayed) == 1
            after = broker.look(lambda: set(broker.server.parts.tasks._tasks))
            assert (len(before), len(after), before & after) == (1, 1, set())

    def test_commits_that_were_not_written_are_answered(
        self, broker: RunningBroker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The log raises under many commits at once, which share an append."""
        with Client(broker.bootstrap) as ana:
            ana.ask(CreateTopicsRequest([CreateTopicsRequest.CreatableTopic("orders", 1, 1)], 1000), 7)
            self.join(ana, "sick")
            monkeypatch.setattr(InternalLog, "append", fails)
            for _ in range(5):
                ana.send(self.commit_request("sick", 5), 7)
            answers = [ana.receive().message.topics[0].partitions[0].error_code for _ in range(5)]
            assert answers[0] == ErrorCode.UNKNOWN_SERVER_ERROR
            assert set(answers[1:]) <= {ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
        assert len(broker.log.named("group.failed")) == 1

    @pytest.fixture(autouse=True)
    def members(self) -> None:
        #: By group: who joined last.
        self.member_ids: dict[str, str] = {}

    def commit_request(self, group_id: str, offset: int) -> OffsetCommitRequest:
        partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, offset)
        topics = [OffsetCommitRequest.OffsetCommitRequestTopic("orders", partitions=[partition])]
        return OffsetCommitRequest(group_id, 1, self.member_ids[group_id], topics=topics)

    def commit(self, client: Client, group_id: str, offset: int) -> int:
        error: int = client.ask(self.commit_request(group_id, offset), 7).topics[0].partitions[0].error_code
        return error

    def committed(self, client: Client, group_id: str) -> int:
        group = OffsetFetchRequest.OffsetFetchRequestGroup(group_id, topics=None)
        (fetched,) = client.ask(OffsetFetchRequest(groups=[group]), 8).groups
        offset: int = fetched.topics[0].partitions[0].committed_offset
        return offset

    def join_request(self, group_id: str) -> JoinGroupRequest:
        protocol = JoinGroupRequest.JoinGroupRequestProtocol("range", b"")
        return JoinGroupRequest(group_id, 60_000, 60_000, protocol_type="consumer", protocols=[protocol])

    def join(self, client: Client, group_id: str) -> None:
        """A new group of one member, with its assignment."""
        client.ask(FindCoordinatorRequest(group_id, 0), 2)
        joined = client.ask(self.join_request(group_id), 3)
        self.member_ids[group_id] = joined.member_id
        assignment = SyncGroupRequest.SyncGroupRequestAssignment(joined.member_id, b"")
        assert not client.ask(SyncGroupRequest(group_id, 1, joined.member_id, assignments=[assignment]), 3).error_code
