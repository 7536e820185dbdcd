"""Who gets what: the members bring assignors, the broker finds one that all of them have, and the leader uses it."""

from __future__ import annotations

import pytest

from ottla.protocol.errors import ErrorCode
from tests.clients.conftest import MakeTopic, Start
from tests.clients.libraries import LIBRARIES, Library, name_of, who_can
from tests.clients.sharing import LONG_MS, each_reads_its_own, share
from tests.support.backstage import Backstage

EAGER = [(library, assignor) for library in LIBRARIES for assignor in library.assignors if "coop" not in assignor]
COOPERATIVE = [library for library in LIBRARIES if "cooperative-sticky" in library.assignors]


@pytest.mark.parametrize(("library", "assignor"), EAGER, ids=name_of)
def test_eager_assignor(
    library: Library, assignor: str, start: Start, backstage: Backstage, make_topic: MakeTopic, group: str
) -> None:
    """Who has all partitions gives them all back when another joins, and then each has the share the assignor means."""
    topic = make_topic(partitions=4)
    ana, bo = start(library, "ana"), start(library, "bo")
    ana.subscribe(group=group, topics=[topic], assignors=[assignor], session_timeout_ms=LONG_MS)
    share(topic, 4, [ana])
    bo.subscribe(group=group, topics=[topic], assignors=[assignor], session_timeout_ms=LONG_MS)
    share(topic, 4, [ana, bo])
    everything = frozenset((topic, index) for index in range(4))
    assert ("revoked", everything) in ana.rebalances
    halves = {frozenset(index for _, index in member.holds) for member in (ana, bo)}
    if assignor == "range":
        assert halves == {frozenset((0, 1)), frozenset((2, 3))}
    elif assignor == "roundrobin":
        assert halves == {frozenset((0, 2)), frozenset((1, 3))}
    assert backstage.wait_for_group(group, "Stable", 2).protocol_data == assignor
    each_reads_its_own(topic, 4, ana, [ana, bo])


@pytest.mark.parametrize("library", COOPERATIVE, ids=name_of)
def test_cooperative_assignor(
    library: Library, start: Start, backstage: Backstage, make_topic: MakeTopic, group: str
) -> None:
    """Who has all partitions gives back only what the newcomer gets, and reads on from the others all the while."""
    topic = make_topic(partitions=4)
    ana, bo = start(library, "ana"), start(library, "bo")
    ana.subscribe(group=group, topics=[topic], assignors=["cooperative-sticky"], session_timeout_ms=LONG_MS)
    share(topic, 4, [ana])
    kept_or_given = ana.holds
    told = len(ana.rebalances)
    bo.subscribe(group=group, topics=[topic], assignors=["cooperative-sticky"], session_timeout_ms=LONG_MS)
    share(topic, 4, [ana, bo])
    given = [partitions for what, partitions in ana.rebalances[told:] if partitions]
    assert given == [frozenset(kept_or_given - ana.holds)]
    assert bo.holds == given[0]
    assert backstage.wait_for_group(group, "Stable", 2).protocol_data == "cooperative-sticky"
    each_reads_its_own(topic, 4, ana, [ana, bo])
    bo.close()
    share(topic, 4, [ana])
    assert ana.rebalances[-1] == ("assigned", given[0])


@pytest.mark.parametrize("library", who_can("using an assignor it does not prefer"), ids=name_of)
def test_most_votes_among_what_all_have(
    library: Library, start: Start, backstage: Backstage, make_topic: MakeTopic, group: str
) -> None:
    """Ana prefers roundrobin, Bo and Cy range; all have both, so range it is."""
    topic = make_topic(partitions=3)
    members = [start(library, name) for name in ("ana", "bo", "cy")]
    wishes = [["roundrobin", "range"], ["range", "roundrobin"], ["range", "roundrobin"]]
    for number, (member, assignors) in enumerate(zip(members, wishes, strict=True), start=1):
        member.subscribe(group=group, topics=[topic], assignors=assignors, session_timeout_ms=LONG_MS)
        share(topic, 3, members[:number])
    assert backstage.wait_for_group(group, "Stable", 3).protocol_data == "range"


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_member_without_a_common_assignor_is_refused(
    library: Library, start: Start, backstage: Backstage, make_topic: MakeTopic, group: str
) -> None:
    """Ana has range, Bo only roundrobin: Bo is told so, and Ana, who hears nothing of it, goes on."""
    topic = make_topic(partitions=2)
    ana, bo = start(library, "ana"), start(library, "bo")
    ana.subscribe(group=group, topics=[topic], assignors=["range"], session_timeout_ms=LONG_MS)
    share(topic, 2, [ana])
    told = len(ana.rebalances)
    bo.subscribe(group=group, topics=[topic], assignors=["roundrobin"], session_timeout_ms=LONG_MS)
    bo.until(lambda: bool(bo.failures), "bo is refused")
    assert bo.failures[0].code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    each_reads_its_own(topic, 2, ana, [ana])
    assert len(ana.rebalances) == told


@pytest.mark.parametrize("library", COOPERATIVE, ids=name_of)
def test_group_moves_to_the_cooperative_assignor_when_it_is_empty(
    library: Library, start: Start, backstage: Backstage, make_topic: MakeTopic, group: str
) -> None:
    """Libraries that can't mix the two kinds move all at once: too early is refused, an empty group takes either."""
    topic = make_topic(partitions=2)
    ana, bo = start(library, "ana"), start(library, "bo")
    ana.subscribe(group=group, topics=[topic], assignors=["range"], session_timeout_ms=LONG_MS)
    share(topic, 2, [ana])
    bo.subscribe(group=group, topics=[topic], assignors=["cooperative-sticky"], session_timeout_ms=LONG_MS)
    bo.until(lambda: bool(bo.failures), "bo is refused")
    assert bo.failures[0].code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    bo.kill()
    each_reads_its_own(topic, 2, ana, [ana])
    ana.commit()
    ana.close()
    ana.forget()
    ana.subscribe(group=group, topics=[topic], assignors=["cooperative-sticky"], session_timeout_ms=LONG_MS)
    share(topic, 2, [ana])
    assert backstage.wait_for_group(group, "Stable", 1).protocol_data == "cooperative-sticky"
    each_reads_its_own(topic, 2, ana, [ana])
