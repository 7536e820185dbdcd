"""Everything that other drills have one by one, mixed at random, under real clients of one broker on one directory."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from ottla.protocol.messages.create_topics import CreateTopicsRequest
from tests.clients.conftest import starter
from tests.clients.libraries import CONFLUENT
from tests.soak.besieged import NODES, Besieged
from tests.soak.conftest import Drill
from tests.soak.ledger import Ledger
from tests.soak.mischief import HAPPENINGS, Stage
from tests.soak.transfers import Transfers
from tests.soak.workload import Workload
from tests.support.client import Client

SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "20",
    "log.retention.check.interval.ms": "50",
    "log.initial.task.delay.ms": "50",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
}
ORDERS: Final = {"internal.segment.bytes": "20000", "retention.ms": "-1"}
ACCOUNTS: Final = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": "40000",
    "min.cleanable.dirty.ratio": "0.01",
}
PARTITIONS: Final = 3

pytestmark = pytest.mark.soak


def test_everything_at_once(drill: Drill, tmp_path: Path) -> None:
    """In no round is anything lost that was acknowledged, or there twice, and the broker says nothing of its own."""
    rounds = drill.rounds(short=5, long=200)
    with Besieged(tmp_path, SETTINGS) as broker, starter(broker.bootstrap) as start:
        ledger = Ledger(start, CONFLUENT, "accounts", Random(drill.seed))
        workload = Workload(start, CONFLUENT, "orders", partitions=PARTITIONS)
        transfers = Transfers(start, "transfers", partitions=PARTITIONS)
        stage = Stage(broker, drill.random, orders=[workload.name, transfers.name], ledger=ledger.name)
        create(stage.address, ledger.name, 1, ACCOUNTS)
        for topic in stage.orders:
            create(stage.address, topic, PARTITIONS, ORDERS)
        ledger.begin()
        workload.begin()
        transfers.begin()
        for number in range(rounds):
            happening = drill.random.choice(HAPPENINGS)
            print(f"round {number}: {happening.__name__}", flush=True)
            happens_while_they_work(partial(happening, stage), workload, ledger, transfers)
            broker.check_log()
            workload.check_so_far()
            transfers.check_so_far()
        for node_id in list(broker.nodes_down):
            broker.start_node(node_id)
        workload.end()
        transfers.end()
        ledger.check()
        broker.check_log()


def happens_while_they_work(happening: Callable[[], Any], *work: Workload | Ledger | Transfers) -> None:
    """Return when it is over and everybody has got on since."""
    with ThreadPoolExecutor(1) as pool:
        happens = pool.submit(happening)
        is_over = False
        while not is_over:
            is_over = happens.done()
            for one in work:
                one.goes_on()
        happens.result()


def create(bootstrap: str, topic: str, partitions: int, configs: dict[str, str]) -> None:
    """Make a topic that every node has."""
    listed = [CreateTopicsRequest.CreatableTopicConfig(*entry) for entry in configs.items()]
    new = CreateTopicsRequest.CreatableTopic(topic, partitions, NODES, configs=listed)
    with Client(bootstrap) as client:
        assert not client.ask(CreateTopicsRequest([new], 10_000), 7).topics[0].error_code
