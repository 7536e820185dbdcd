"""What comes again byte for byte is decoded once, and the same answer encoded once; the group is asked each time."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.broker.network.apis import SERVED
from ottla.broker.network.call import Call
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.leave_group import LeaveGroupRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from ottla.protocol.messages.sync_group import SyncGroupRequest
from ottla.protocol.primitives import Buffer
from tests.broker.network.stage import Stage
from tests.broker.test_topics_over_sockets import Ana, serving


async def member_of(ana: Ana, group_id: str) -> str:
    """Make Ana the one member of a Stable group in generation 1, and return her member id."""
    await ana.ask(FindCoordinatorRequest(key=group_id), 2)
    protocol = JoinGroupRequest.JoinGroupRequestProtocol("range", b"")
    join = JoinGroupRequest(group_id, 45_000, 45_000, protocol_type="consumer", protocols=[protocol])
    joined = await ana.ask(join, 3)
    assert (joined.error_code, joined.generation_id) == (ErrorCode.NONE, 1)
    assert (await ana.ask(SyncGroupRequest(group_id, 1, joined.member_id), 3)).error_code == ErrorCode.NONE
    return str(joined.member_id)


async def test_heartbeats_of_a_generation_are_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ana beats three times with the same bytes, then in another version: two requests are made of that."""
    decoded = []
    initialise = HeartbeatRequest.__init__

    def counting(request: HeartbeatRequest, *fields: Any) -> None:
        decoded.append(fields)
        initialise(request, *fields)

    async with serving(group_initial_rebalance_delay_ms="0") as (ana,):
        beat = HeartbeatRequest("crew", 1, await member_of(ana, "crew"))
        monkeypatch.setattr(HeartbeatRequest, "__init__", counting)
        for version in (3, 3, 3, 2):
            assert (await ana.ask(beat, version)).error_code == ErrorCode.NONE
    assert len(decoded) == 2


async def test_answer_that_is_given_again_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ana beats well twice, wrongly twice, and well again: there are two answers to write down."""
    written = []
    write = HeartbeatResponse.WRITERS[3]

    def counting(response: HeartbeatResponse, parts: list[Buffer]) -> None:
        written.append(response.error_code)
        write(response, parts)

    monkeypatch.setitem(HeartbeatResponse.WRITERS, 3, counting)
    async with serving(group_initial_rebalance_delay_ms="0") as (ana,):
        member_id = await member_of(ana, "crew")
        answers = [await ana.ask(HeartbeatRequest("crew", generation, member_id), 3) for generation in (1, 1, 2, 2, 1)]
    fine, wrong = ErrorCode.NONE, ErrorCode.ILLEGAL_GENERATION
    assert [answer.error_code for answer in answers] == [fine, fine, wrong, wrong, fine]
    # The test's client encodes what it has decoded, to compare; then the error is a plain number.
    assert [code for code in written if isinstance(code, ErrorCode)] == [fine, wrong]


async def test_api_versions_are_encoded_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ana and Bo ask two nodes, Ana twice, and once with a name that is none: what is served depends on nobody."""
    written = []
    write = ApiVersionsResponse.WRITERS[3]

    def counting(response: ApiVersionsResponse, parts: list[Buffer]) -> None:
        written.append(response.error_code)
        write(response, parts)

    monkeypatch.setitem(ApiVersionsResponse.WRITERS, 3, counting)
    good, wrong = ApiVersionsRequest("ana", "1"), ApiVersionsRequest("-", "1")
    async with serving(nodes=2) as (ana, bo):
        answers = [await client.ask(request, 3) for client, request in ((ana, good), (bo, good), (ana, good))]
        assert (await ana.ask(wrong, 3)).error_code == ErrorCode.INVALID_REQUEST
    assert [len(answer.api_keys) for answer in answers] == [len(SERVED)] * 3
    # The test's client encodes what it has decoded, to compare; then the error is a plain number.
    encoded = [code for code in written if isinstance(code, ErrorCode)]
    assert encoded == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]


async def test_heartbeat_that_comes_again_is_answered_by_what_the_group_is_by_then() -> None:
    """Ana beats, beats in a generation that isn't, beats, leaves, and beats with bytes that were fine before."""
    async with serving(group_initial_rebalance_delay_ms="0") as (ana,):
        member_id = await member_of(ana, "crew")

        async def beat(generation_id: int) -> int:
            return int((await ana.ask(HeartbeatRequest("crew", generation_id, member_id), 3)).error_code)

        assert [await beat(1), await beat(1)] == [ErrorCode.NONE, ErrorCode.NONE]
        assert [await beat(2), await beat(2)] == [ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION]
        assert await beat(1) == ErrorCode.NONE
        await ana.ask(LeaveGroupRequest("crew", member_id), 2)
        assert await beat(1) == ErrorCode.UNKNOWN_MEMBER_ID


async def test_commits_of_the_same_partitions_are_answered_by_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ana commits for two groups, other offsets each time, then a text that is too long: two answers are written."""
    written = []
    write = OffsetCommitResponse.WRITERS[7]

    def counting(response: OffsetCommitResponse, parts: list[Buffer]) -> None:
        written.append([partition.error_code for partition in response.topics[0].partitions])
        write(response, parts)

    monkeypatch.setitem(OffsetCommitResponse.WRITERS, 7, counting)
    async with serving(offset_metadata_max_bytes="3") as (ana,):
        await ana.ask(MetadataRequest([MetadataRequest.MetadataRequestTopic(name="orders")]), 12)
        await ana.ask(FindCoordinatorRequest(key="crew"), 2)
        told = []
        for group, offset, metadata in (("crew", 1, ""), ("crew", 2, "abc"), ("other", 3, ""), ("crew", 4, "long")):
            partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, offset, committed_metadata=metadata)
            topic = OffsetCommitRequest.OffsetCommitRequestTopic("orders", partitions=[partition])
            answer = await ana.ask(OffsetCommitRequest(group, topics=[topic]), 7)
            told.append(answer.topics[0].partitions[0].error_code)
    fine, too_long = ErrorCode.NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert told == [fine, fine, fine, too_long]
    # The test's client encodes what it has decoded, to compare; then the error is a plain number.
    assert [codes for codes in written if isinstance(codes[0], ErrorCode)] == [[fine], [too_long]]


async def test_answers_that_repeat_are_kept_in_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many different ones there are, each says what it said, and few are kept."""
    monkeypatch.setattr("ottla.broker.network.call.KEPT_ANSWERS_MAX", 2)
    async with Stage() as stage:
        stage.connect()
        route = stage.listener.routes.find((12).to_bytes(2, "big") + (3).to_bytes(2, "big"))
        call = Call(stage.connection, route, 7, "ana", HeartbeatRequest())
        answers = [HeartbeatResponse(throttle_time_ms=number) for number in range(5)]
        for answer in (*answers, *answers):
            body = answer.encode(3)
            assert call.encode(answer) == [route.pack_header(len(body) + 4, 7) + body]
            assert call.answer_bytes == len(body)
            assert len(route.bodies) <= 2


async def test_large_answers_are_not_kept() -> None:
    """As messages they take many times what they have as bytes."""
    async with Stage() as stage:
        stage.connect()
        route = stage.listener.routes.find((8).to_bytes(2, "big") + (7).to_bytes(2, "big"))
        call = Call(stage.connection, route, 7, "ana", OffsetCommitRequest())
        for count in (16, 200):
            partitions = [OffsetCommitResponse.OffsetCommitResponsePartition(index, 0) for index in range(count)]
            topic = OffsetCommitResponse.OffsetCommitResponseTopic("t" * 249, partitions=partitions)
            call.encode(OffsetCommitResponse(topics=[topic]))
        kept: list[Any] = [answer for answer, *_ in route.bodies.values()]
        assert [len(answer.topics[0].partitions) for answer in kept] == [16]
