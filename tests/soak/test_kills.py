"""`kill -9` again and again, at any moment and at the worst, under groups of real clients and a compacted topic.

The clients are confluent-kafka's: the others begin a producer for each order, which they can't while nobody is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Final

import pytest

from ottla.cluster.topic_names import GROUP_TOPIC, TRANSACTION_TOPIC
from tests.clients.conftest import starter
from tests.clients.libraries import CONFLUENT
from tests.soak.conftest import Drill
from tests.soak.ledger import Ledger
from tests.soak.mortal import Moment, Mortal
from tests.soak.transfers import Transfers
from tests.soak.workload import Workload
from tests.support.backstage import Backstage

SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "20",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
}
SMALL_SEGMENTS: Final = {"internal.segment.bytes": "5000"}
COMPACTED: Final = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": "40000",
    "min.cleanable.dirty.ratio": "0.01",
}
#: The logs of the groups and of the transactions roll and are compacted all along as well.
STATE_LOG: Final = {"internal.segment.bytes": "5000", "min.cleanable.dirty.ratio": "0.01"}

pytestmark = pytest.mark.soak


def test_killed_again_and_again(drill: Drill, tmp_path: Path) -> None:
    """Nothing acknowledged is lost or there twice, transactions are whole or not there, commits hold, compaction leaves
    the last of each key, and what was deleted stays so."""
    rounds = drill.rounds(short=4, long=50)
    moments = shuffled(rounds, drill.random)
    names = ["orders", "payments"] if drill.is_long else ["orders"]
    with Mortal(tmp_path / "data", SETTINGS) as broker, starter(broker.bootstrap) as start:
        ledger = Ledger(start, CONFLUENT, "accounts", Random(drill.seed))
        workloads = [Workload(start, CONFLUENT, name, partitions=3) for name in names]
        transfers = Transfers(start, "transfers", partitions=3)
        with Backstage(broker.bootstrap) as backstage:
            backstage.create_topic(ledger.name, configs=COMPACTED)
            for workload in workloads:
                backstage.create_topic(workload.name, partitions=3, configs=SMALL_SEGMENTS)
            backstage.create_topic(transfers.name, partitions=3, configs=SMALL_SEGMENTS)
        ledger.begin()
        for workload in workloads:
            workload.begin()
        transfers.begin()
        with Backstage(broker.bootstrap) as backstage:
            for topic in (GROUP_TOPIC, TRANSACTION_TOPIC):
                backstage.change_topic(topic, STATE_LOG)
        for moment in moments:
            watched = f"{ledger.name}-0" if moment is Moment.COMPACTION else f"{workloads[0].name}-0"
            die_while_they_work(broker, moment, watched, (*workloads, ledger, transfers), drill.random)
            transfers.check_so_far()
        for workload in workloads:
            workload.end()
        transfers.end()
        ledger.check()


def shuffled(rounds: int, random: Random) -> list[Moment]:
    """Each moment as often as the others."""
    moments = [list(Moment)[number % len(Moment)] for number in range(rounds)]
    random.shuffle(moments)
    return moments


def die_while_they_work(
    broker: Mortal, moment: Moment, watched: str, work: Sequence[Workload | Ledger | Transfers], random: Random
) -> None:
    """Return when the broker is back and everybody has got on."""
    with ThreadPoolExecutor(1) as pool:
        dying = pool.submit(broker.die_and_return, moment, watched, random)
        is_over = False
        while not is_over:
            is_over = dying.done()
            for one in work:
                one.goes_on()
        dying.result()
