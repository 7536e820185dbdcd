"""What a consumer is subscribed to may grow while it runs: by a pattern, or because a topic gets more partitions."""

from __future__ import annotations

import pytest

from tests.clients.client_process import until
from tests.clients.conftest import MakeTopic, Start, unique_name
from tests.clients.libraries import LIBRARIES, Library, name_of, who_can
from tests.clients.sharing import LONG_MS, share
from tests.support.backstage import Backstage

#: Clients ask for metadata so often; a turn is longer than the story (see `programs.kafka_python`).
WATCHFUL = {"metadata_max_age_ms": 200, "turn_seconds": 60, "session_timeout_ms": LONG_MS}


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_pattern_takes_in_a_topic_that_is_created_later(
    library: Library, start: Start, backstage: Backstage, group: str
) -> None:
    """Ana's pattern matches two topics of three; a third that matches is made, and Ana gets it too."""
    stem = unique_name("pattern")
    for topic in (f"{stem}-a", f"{stem}-b", f"other-{stem}"):
        backstage.create_topic(topic)
    ana = start(library, "ana")
    ana.subscribe(group=group, pattern=f"{stem}-.*", **WATCHFUL)
    ana.until(lambda: ana.holds == {(f"{stem}-a", 0), (f"{stem}-b", 0)}, "ana holds both")
    backstage.create_topic(f"{stem}-c", partitions=2)
    wanted = {(f"{stem}-a", 0), (f"{stem}-b", 0), (f"{stem}-c", 0), (f"{stem}-c", 1)}
    ana.until(lambda: ana.holds == wanted, "ana holds the new one as well")


@pytest.mark.parametrize("library", who_can("hiding internal topics"), ids=name_of)
def test_pattern_does_not_match_internal_topics(
    library: Library, start: Start, backstage: Backstage, group: str
) -> None:
    """The pattern fits the name of the topic of the groups' offsets, but Metadata marks it as internal."""
    stem = unique_name("public")
    backstage.create_topic(stem)
    ana = start(library, "ana")
    ana.subscribe(group=group, pattern=f"({stem}|__consumer_offsets)", **WATCHFUL)
    ana.until(lambda: (stem, 0) in ana.holds, "ana holds what is public")
    assert {topic for topic, _ in ana.holds} == {stem}


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_partitions_are_added_to_a_subscribed_topic(
    library: Library, start: Start, backstage: Backstage, make_topic: MakeTopic, group: str
) -> None:
    """Two partitions become six: the group's leader sees it, and both members have their share of the new ones."""
    topic = make_topic(partitions=2)
    ana, bo = start(library, "ana"), start(library, "bo")
    ana.subscribe(group=group, topics=[topic], **WATCHFUL)
    bo.subscribe(group=group, topics=[topic], **WATCHFUL)
    share(topic, 2, [ana, bo])
    backstage.add_partitions(topic, 6)
    share(topic, 6, [ana, bo])


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_members_subscribe_to_different_topics(
    library: Library, start: Start, make_topic: MakeTopic, group: str
) -> None:
    """Nobody gets partitions of a topic it did not ask for."""
    common, own = make_topic(partitions=2), make_topic(partitions=2)
    ana, bo = start(library, "ana"), start(library, "bo")
    ana.subscribe(group=group, topics=[common, own], session_timeout_ms=LONG_MS)
    bo.subscribe(group=group, topics=[common], session_timeout_ms=LONG_MS)
    until(
        lambda: {(own, 0), (own, 1)} <= ana.holds and {topic for topic, _ in bo.holds} == {common},
        "each has of what it asked for",
        ana,
        bo,
    )
    assert ana.holds.isdisjoint(bo.holds)
