"""Consumers that share a topic: they come, go, die, freeze and come back, and each partition has one owner throughout.

What they share is seen from outside, by what each client says it holds and what it receives. Where a short session
matters its member has one; the others' sessions are long, so that only what the story tells can move a partition.
"""

from __future__ import annotations

import pytest

from tests.clients.client_process import ClientProcess
from tests.clients.conftest import MakeTopic, Start
from tests.clients.libraries import (
    AIOKAFKA,
    CONFLUENT,
    KAFKA_PYTHON,
    KAFKA_PYTHON_2_0_2,
    LIBRARIES,
    Library,
    name_of,
    who_can,
)
from tests.clients.sharing import LONG_MS, each_reads_its_own, share
from tests.support.backstage import Backstage


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_members_come_and_go(library: Library, start: Start, make_topic: MakeTopic, group: str) -> None:
    """Two share, then three, one leaves in order, then one is alone again. Every message is read by one of them.

    Who leaves says so: the others take over although its session has long to go.
    """
    topic = make_topic(partitions=6)
    ana, bo, cy = (start(library, name) for name in ("ana", "bo", "cy"))
    ana.subscribe(group=group, topics=[topic], session_timeout_ms=LONG_MS)
    share(topic, 6, [ana])
    bo.subscribe(group=group, topics=[topic], session_timeout_ms=LONG_MS)
    share(topic, 6, [ana, bo])
    cy.subscribe(group=group, topics=[topic], session_timeout_ms=LONG_MS)
    share(topic, 6, [ana, bo, cy])
    each_reads_its_own(topic, 6, ana, [ana, bo, cy])
    for member in (ana, bo, cy):
        member.commit()
    ana.close()
    share(topic, 6, [bo, cy])
    each_reads_its_own(topic, 6, ana, [bo, cy])
    cy.close()
    share(topic, 6, [bo])


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_killed_member_is_missed_after_its_session(
    library: Library,
    start: Start,
    backstage: Backstage,
    make_topic: MakeTopic,
    group: str,
    short_session_timeout_ms: int,
) -> None:
    """Bo dies by kill -9. Its closed connection means nothing; when its session is over Ana has all partitions."""
    topic = make_topic(partitions=4)
    ana, bo = start(library, "ana"), start(library, "bo")
    ana.subscribe(group=group, topics=[topic], session_timeout_ms=LONG_MS)
    bo.subscribe(group=group, topics=[topic], session_timeout_ms=short_session_timeout_ms)
    share(topic, 4, [ana, bo])
    bo.kill()
    assert len(backstage.group(group).members) == 2
    share(topic, 4, [ana])
    each_reads_its_own(topic, 4, ana, [ana])


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_frozen_member_is_expelled_and_comes_back(
    library: Library,
    start: Start,
    backstage: Backstage,
    make_topic: MakeTopic,
    group: str,
    short_session_timeout_ms: int,
) -> None:
    """Bo stands still for longer than its session and loses its partitions; awake again it joins as somebody new."""
    topic = make_topic(partitions=4)
    ana, bo = start(library, "ana"), start(library, "bo")
    ana.subscribe(group=group, topics=[topic], session_timeout_ms=LONG_MS)
    bo.subscribe(group=group, topics=[topic], session_timeout_ms=short_session_timeout_ms)
    share(topic, 4, [ana, bo])
    known = {member.member_id for member in backstage.group(group).members}
    bo.freeze()
    share(topic, 4, [ana])
    bo.thaw()
    share(topic, 4, [ana, bo])
    each_reads_its_own(topic, 4, ana, [ana, bo])
    assert len({member.member_id for member in backstage.group(group).members} - known) == 1


@pytest.mark.parametrize("library", who_can("static membership"), ids=name_of)
def test_static_member_restarts_without_a_rebalance(
    library: Library, start: Start, backstage: Backstage, make_topic: MakeTopic, group: str
) -> None:
    """Bo is killed and starts again within its session, with the same instance id: it has what it had, and Ana heard
    nothing of it. Its member id is another one now.
    """
    topic = make_topic(partitions=4)
    ana, bo = start(library, "ana"), start(library, "bo")
    ana.subscribe(group=group, topics=[topic], instance="ana", session_timeout_ms=LONG_MS)
    share(topic, 4, [ana])
    bo.subscribe(group=group, topics=[topic], instance="bo", session_timeout_ms=LONG_MS)
    share(topic, 4, [ana, bo])
    held, told = bo.holds, len(ana.rebalances)
    before = {member.group_instance_id: member.member_id for member in backstage.group(group).members}
    bo.kill()
    again = start(library, "bo")
    again.subscribe(group=group, topics=[topic], instance="bo", session_timeout_ms=LONG_MS)
    again.until(lambda: again.holds == held, "bo holds again what it held")
    each_reads_its_own(topic, 4, ana, [ana, again])
    after = {member.group_instance_id: member.member_id for member in backstage.group(group).members}
    assert len(ana.rebalances) == told
    assert after["ana"] == before["ana"]
    assert after["bo"] != before["bo"]


def test_second_bearer_of_an_instance_id_fences_the_first(start: Start, make_topic: MakeTopic, group: str) -> None:
    """Two processes claim to be one static member: the later one counts, and the earlier is told so.

    librdkafka passes that on. kafka-python keeps it to itself, and aiokafka, which can't be told, fights.
    """
    topic = make_topic(partitions=2)
    first, second = start(CONFLUENT, "first"), start(CONFLUENT, "second")
    first.subscribe(group=group, topics=[topic], instance="one", session_timeout_ms=LONG_MS)
    share(topic, 2, [first])
    second.subscribe(group=group, topics=[topic], instance="one", session_timeout_ms=LONG_MS)
    share(topic, 2, [second])
    first.until(lambda: bool(first.failures), "the first is told")
    assert "Static consumer fenced" in first.failures[0].text


def test_members_of_all_libraries_in_one_group(
    start: Start, backstage: Backstage, make_topic: MakeTopic, group: str
) -> None:
    """They agree on `range`; whoever leads understands what the others subscribe to, and they what it assigns."""
    topic = make_topic(partitions=12)
    members: list[ClientProcess] = []
    for library in (KAFKA_PYTHON, CONFLUENT, AIOKAFKA, KAFKA_PYTHON_2_0_2):
        if library.missing():
            continue
        member = start(library, library.name)
        member.subscribe(group=group, topics=[topic], session_timeout_ms=LONG_MS)
        members.append(member)
        share(topic, 12, members)
    assert backstage.wait_for_group(group, "Stable", len(members)).protocol_data == "range"
    each_reads_its_own(topic, 12, members[0], members)
    while len(members) > 1:  # the leader goes, another library leads
        members.pop(0).close()
        share(topic, 12, members)
