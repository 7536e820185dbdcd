"""Traces to look at, made by hand, so that a page shows the same each time."""

from __future__ import annotations

from typing import Any

from ottla.events.kind import KINDS
from ottla.testing.trace.document import Trace, TracedEvent, TracedRequest

HOSTILE = '</script><script>window.pwned = 1</script><img src="x" onerror="window.pwned = 1">'


def event(sequence: int, kind: str, at_ms: int, said: str = "", **details: Any) -> TracedEvent:
    return TracedEvent(
        sequence,
        float(at_ms),
        at_ms,
        kind,
        KINDS[kind].level,
        details.pop("node_id", None),
        details.get("group_id"),
        details.get("member_id"),
        said or kind,
        details,
    )


def request(api: str, at_ms: int, **changes: Any) -> TracedRequest:
    facts: dict[str, Any] = {
        "real_ms": float(at_ms),
        "broker_ms": at_ms,
        "took_ms": 0.25,
        "api": api,
        "api_version": 3,
        "client_id": "ana",
        "client_host": "/127.0.0.1",
        "node_id": 1,
        "group_id": None,
        "member_id": None,
        "errors": [],
        "is_answered": True,
        "request": {},
        "answer": {},
    }
    return TracedRequest(**{**facts, **changes})


def rebalance(first: int, at_ms: int, group: str, generation: int, *, cause: str, member: str) -> list[TracedEvent]:
    """From its start to its end."""
    about = {"group_id": group, "cause": cause}
    return [
        event(
            first,
            "group.rebalance.started",
            at_ms,
            f"rebalance started: {cause}",
            member_id=member,
            generation_id=generation - 1,
            **about,
        ),
        event(first + 1, "group.rebalance.joined", at_ms + 5, generation_id=generation, members=1, **about),
        event(first + 2, "group.rebalance.completed", at_ms + 9, generation_id=generation, **about),
    ]


def kitchen(*, second_cause: str = "member_left") -> Trace:
    """Ana joins, bo joins and goes, by himself or in silence; ana commits and asks for records."""
    events = [
        event(1, "topic.created", 0, "topic orders created, 1 partition", topic="orders", partitions=1),
        joined(2, 10, "kitchen", "ana"),
        *rebalance(3, 10, "kitchen", 1, cause="member_joined", member=member_id("ana")),
        joined(6, 40, "kitchen", "bo"),
        *rebalance(7, 40, "kitchen", 2, cause="member_joined", member=member_id("bo")),
        event(10, "time.advanced", 45_100, "time moved by 45000 ms", ms=45_000),
        event(
            11,
            "group.member.removed",
            45_200,
            f"removed: {second_cause}",
            group_id="kitchen",
            member_id=member_id("bo"),
            cause=second_cause,
        ),
        *rebalance(12, 45_200, "kitchen", 3, cause=second_cause, member=member_id("bo")),
    ]
    about = {"group_id": "kitchen", "member_id": member_id("ana")}
    requests = [
        request("Fetch", 60),
        request(
            "OffsetCommit",
            70,
            errors=["ILLEGAL_GENERATION"],
            request={"group_id": "kitchen", "topics": [{"name": "orders", "committed_offset": 7}]},
            answer={"topics": [{"name": "orders", "error_code": "ILLEGAL_GENERATION (22)"}]},
            **about,
        ),
        request("Heartbeat", 80, **about),
    ]
    return Trace("test_kitchen", "broker", 1_700_000_000_000, events, requests, "failed", has_requests=True)


def member_id(client: str) -> str:
    return f"{client}-0a1b2c3d-1111-2222-3333-444455556666"


def joined(sequence: int, at_ms: int, group: str, client: str) -> TracedEvent:
    return event(
        sequence,
        "group.member.joined",
        at_ms,
        f"joined: {client} at /127.0.0.1",
        group_id=group,
        member_id=member_id(client),
        client_id=client,
        client_host="/127.0.0.1",
        session_timeout_ms=45_000,
    )


def crowd(events: int, groups: int = 5, members: int = 20) -> Trace:
    """So many events: groups whose members come and go, one rebalance after another."""
    told: list[TracedEvent] = []
    for group in range(groups):
        told += [
            joined(len(told) + number + 1, number, f"group-{group}", f"client-{group}-{number}")
            for number in range(members)
        ]
    generation = 1
    while len(told) < events:
        group, number = generation % groups, generation % members
        about = f"group-{group}", member_id(f"client-{group}-{number}")
        at_ms = generation * 20
        told += rebalance(
            len(told) + 1, at_ms, about[0], generation // groups + 1, cause="member_changed", member=about[1]
        )
        told.append(
            event(
                len(told) + 1,
                "group.member.rejoined",
                at_ms + 3,
                "rejoined",
                group_id=about[0],
                member_id=about[1],
                is_changed=True,
            )
        )
        generation += 1
    return Trace("crowd", "broker", 1_700_000_000_000, told[:events])
