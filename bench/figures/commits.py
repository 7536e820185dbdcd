"""OffsetCommit by members of Stable groups: 10 connections with 8 in flight, one partition a request."""

from __future__ import annotations

from bench.broker import Broker
from bench.figures.figure import Figure, Row, Values
from bench.frames import answer_frame, request_frame
from bench.load import Stream, run_load
from bench.members import create_topic, delete_topic, fresh_name, stable_members
from ottla.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse

VERSION = 7
CONNECTIONS = 10

COMMITS = Row("OffsetCommit/s, 10 connections × 8", goal="≥ 0.5 × mock, ≥ 1.1 × kfake")
COMMITS_CPU = Row("… CPU µs per commit", digits=1, smaller_is_better=True)


def measure(broker: Broker, seconds: float) -> Values:
    topic = fresh_name("commit")
    groups = [fresh_name("group") for _ in range(CONNECTIONS)]
    if broker.is_echo:
        members = [("rdkafka-00000000-0000-0000-0000-000000000000", 1)] * CONNECTIONS
    else:
        create_topic(broker, topic)
        members = stable_members(broker, groups)
    answer = answer_frame(_answer(topic), VERSION)
    streams = [
        Stream([request_frame(commit_request(topic, group, *member), VERSION)], answer)
        for group, member in zip(groups, members, strict=True)
    ]
    load = run_load(broker, streams, in_flight=8, seconds=seconds)
    if not broker.is_echo:
        delete_topic(broker, topic)
    return {COMMITS.title: load.requests_per_second, COMMITS_CPU.title: load.cpu_us_per_request}


def commit_request(topic: str, group: str, member_id: str, generation_id: int) -> OffsetCommitRequest:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(
        partition_index=0, committed_offset=42, committed_metadata=""
    )
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation_id,
        member_id=member_id,
        topics=[OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=[partition])],
    )


def _answer(topic: str) -> OffsetCommitResponse:
    partition = OffsetCommitResponse.OffsetCommitResponsePartition(partition_index=0, error_code=0)
    return OffsetCommitResponse(
        topics=[OffsetCommitResponse.OffsetCommitResponseTopic(name=topic, partitions=[partition])]
    )


FIGURE = Figure("commits", (COMMITS, COMMITS_CPU), measure)
