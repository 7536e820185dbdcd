"""What a connection remembers of a commit says of the next ones just what the codec would."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.broker.groups.commit_frames import beginning_of
from ottla.broker.network.route import Route
from ottla.protocol.errors import ErrorCode
from ottla.protocol.headers import encode_request_header
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.primitives import DecodeError
from tests.broker.network.test_repeated_requests import member_of
from tests.broker.test_topics_over_sockets import serving, topics

KEY = 8
VERSIONS = range(2, 11)
BEGIN_ALIKE = range(6, 11)

partitions = st.builds(
    OffsetCommitRequest.OffsetCommitRequestPartition,
    st.integers(-1, 3),
    st.integers(-1, 2**63 - 1),
    st.integers(-1, 2**31 - 1),
    st.sampled_from([None, "", "x", "né", "x" * 126, "x" * 127, "x" * 200]),
)


@st.composite
def frames(draw: st.DrawFn, version: int, partitions_count: int, *, is_usual: bool) -> bytes:
    """A commit of so many partitions of a topic as a frame; unusual: with something behind it, in it, or missing."""
    made = [draw(partitions) for _ in range(partitions_count)]
    topics = [OffsetCommitRequest.OffsetCommitRequestTopic("t", bytes(16), made)]
    request = OffsetCommitRequest("crew", 3, "ana-1", topics=topics)
    frame = encode_request_header(KEY, version, 1, "ana", version >= 8) + request.encode(version)
    if is_usual:
        return frame
    at = len(frame) - draw(st.integers(1, 3) | st.integers(1, 40))
    return draw(
        st.sampled_from([frame, frame + b"\0", frame[:at]])
        | st.binary(min_size=1, max_size=2).map(lambda changed: frame[:at] + changed + frame[at + 1 :])
    )


def decoded(frame: bytes, version: int) -> OffsetCommitRequest | None:
    """What the codec makes of it; None: it can't be read."""
    try:
        request = Route(KEY, version).decode(frame, int.from_bytes(frame[8:10], "big", signed=True))[1]
    except (DecodeError, IndexError, struct.error):
        return None
    assert isinstance(request, OffsetCommitRequest)
    return request


@given(data=st.data(), version=st.sampled_from(BEGIN_ALIKE), partitions_count=st.integers(1, 3))
def test_frame_that_begins_alike_says_what_the_codec_reads(
    data: st.DataObject, version: int, partitions_count: int
) -> None:
    """What is remembered of a consumer's commit reads of any frame what the codec reads, or leaves it to the codec."""
    first = data.draw(frames(version, partitions_count, is_usual=True))
    request = decoded(first, version)
    assert request is not None
    beginning = beginning_of(first, request, version)
    if beginning is None:
        assert any(len(p.committed_metadata or "") > 126 for p in request.topics[0].partitions)
        return
    second = data.draw(frames(version, partitions_count, is_usual=False))
    if second.startswith(first[: beginning.at]):
        found = beginning.read(second)
        assert found is None or found == decoded(second, version)


@given(data=st.data(), version=st.sampled_from(VERSIONS), partitions_count=st.integers(0, 20))
def test_what_is_remembered_of_a_frame_is_what_it_says(
    data: st.DataObject, version: int, partitions_count: int
) -> None:
    """Whatever is behind it or in it."""
    frame = data.draw(frames(version, partitions_count, is_usual=False))
    request = decoded(frame, version)
    if request is not None and (beginning := beginning_of(frame, request, version)) is not None:
        assert beginning.read(frame) == request


@pytest.mark.parametrize("version", BEGIN_ALIKE)
def test_commits_of_a_consumer_begin_alike(version: int) -> None:
    """Other offsets, epochs and metadata of the same partitions are read without the codec."""

    def commit(*partitions: tuple[int, int, int, str | None]) -> tuple[bytes, OffsetCommitRequest]:
        made = [OffsetCommitRequest.OffsetCommitRequestPartition(*partition) for partition in partitions]
        topic = OffsetCommitRequest.OffsetCommitRequestTopic("t" if version < 10 else "", bytes(16), made)
        request = OffsetCommitRequest("crew", 3, "ana-1", None, -1, [topic])
        return encode_request_header(KEY, version, 1, "ana", version >= 8) + request.encode(version), request

    first, request = commit((0, 1, -1, ""), (1, 2, 0, "here"))
    second, expected = commit((0, 5, 7, None), (1, 2**40, -1, "further on"))
    beginning = beginning_of(first, request, version)
    assert beginning is not None
    assert second.startswith(first[: beginning.at])
    assert beginning.read(second) == expected


async def test_commit_is_checked_however_it_was_read() -> None:
    """Ana commits three times; then for a partition that isn't there, and in a generation that never was."""
    async with serving(group_initial_rebalance_delay_ms="0") as (ana,):
        await ana.ask(topics("t"), 12)
        member_id = await member_of(ana, "crew")

        async def commit(offset: int, generation_id: int = 1, partition: int = 0) -> ErrorCode:
            made = OffsetCommitRequest.OffsetCommitRequestPartition(partition, offset)
            topic = OffsetCommitRequest.OffsetCommitRequestTopic("t", partitions=[made])
            answer = await ana.ask(OffsetCommitRequest("crew", generation_id, member_id, topics=[topic]), 8)
            return ErrorCode(answer.topics[0].partitions[0].error_code)

        assert [await commit(offset) for offset in (1, 2, 3)] == [ErrorCode.NONE] * 3
        assert await commit(4, partition=9) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert await commit(4, generation_id=9) is ErrorCode.ILLEGAL_GENERATION
        assert await commit(4) is ErrorCode.NONE


def test_handler_is_given_what_it_may_fill_in() -> None:
    """What the handler writes into one commit is not in the next one that begins alike."""
    made = OffsetCommitRequest.OffsetCommitRequestPartition(0, 1)
    request = OffsetCommitRequest(
        "crew", 3, "a", topics=[OffsetCommitRequest.OffsetCommitRequestTopic("t", partitions=[made])]
    )
    frame = encode_request_header(KEY, 8, 1, "ana", flexible=True) + request.encode(8)
    beginning = beginning_of(frame, request, 8)
    assert beginning is not None
    for given_request in (request, beginning.read(frame)):
        assert given_request is not None
        assert given_request.topics[0].topic_id == bytes(16)
        given_request.topics[0].topic_id = b"0123456789abcdef"
        given_request.topics.append(given_request.topics[0])
    assert len(request.topics) == 2
