"""Heartbeats of members of Stable groups, each connection with a group of its own.

One connection with 64 in flight shows what a request costs when reads and writes are shared; 50 connections with 4
each, what a connection costs.
"""

from __future__ import annotations

from bench.broker import Broker
from bench.figures.figure import Figure, Row, Values
from bench.frames import answer_frame, request_frame
from bench.load import Stream, run_load
from bench.members import fresh_name, stable_members
from ottla.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

VERSION = 3
ANSWER = answer_frame(HeartbeatResponse(error_code=0), VERSION)

ONE = Row("heartbeats/s, 1 connection × 64", goal="≥ 1 × mock, ≥ 2.2 × kfake")
ONE_CPU = Row("… CPU µs each", digits=1, smaller_is_better=True, goal="≤ 8")
FIFTY = Row("heartbeats/s, 50 connections × 4", goal="≥ 0.6 × mock, ≥ 1.3 × kfake")
FIFTY_CPU = Row("… CPU µs each, 50 × 4", digits=1, smaller_is_better=True)


def measure(broker: Broker, seconds: float) -> Values:
    streams = _streams(broker, 50)
    one = run_load(broker, streams[:1], in_flight=64, seconds=seconds)
    fifty = run_load(broker, streams, in_flight=4, seconds=seconds)
    return {
        ONE.title: one.requests_per_second,
        ONE_CPU.title: one.cpu_us_per_request,
        FIFTY.title: fifty.requests_per_second,
        FIFTY_CPU.title: fifty.cpu_us_per_request,
    }


def _streams(broker: Broker, connections: int) -> list[Stream]:
    groups = [fresh_name("beat") for _ in range(connections)]
    if broker.is_echo:
        members = [("rdkafka-00000000-0000-0000-0000-000000000000", 1)] * connections
    else:
        members = stable_members(broker, groups)
    return [
        Stream([request_frame(HeartbeatRequest(group, generation_id, member_id), VERSION)], ANSWER)
        for group, (member_id, generation_id) in zip(groups, members, strict=True)
    ]


FIGURE = Figure("heartbeats", (ONE, ONE_CPU, FIFTY, FIFTY_CPU), measure)
