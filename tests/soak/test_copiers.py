"""Consume, transform, produce, exactly once: the copiers are killed at random, and the broker, and nothing is missing.

The long form goes on for about a minute with as many rounds as it has by itself; `ROUNDS` makes it a night.
"""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest

from tests.clients.client_process import ClientProcess, Message
from tests.clients.conftest import starter
from tests.clients.franz_go import build_franz_go
from tests.clients.libraries import CONFLUENT
from tests.soak.conftest import Drill
from tests.soak.copiers import Copiers
from tests.soak.mortal import Moment, Mortal
from tests.support.backstage import Backstage

SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
}
PARTITIONS: Final = 3
MESSAGES_PER_ROUND: Final = 300
#: Time enough to be in the midst of anything; less in the short form.
_PAUSE_SECONDS_MAX: Final = 2.0
_PAUSE_SECONDS_MAX_SHORT: Final = 1.0
#: The broker is killed in one round of so many.
_BROKER_DIES: Final = 5
_END: Final = b"end"

pytestmark = pytest.mark.soak


def test_copiers_that_are_killed_lose_and_double_nothing(drill: Drill, tmp_path: Path) -> None:
    """What readers of committed records find in each partition of the target is what the source has, in its order."""
    rounds = drill.rounds(short=4, long=60)
    random = drill.random
    pause_seconds_max = _PAUSE_SECONDS_MAX if drill.is_long else _PAUSE_SECONDS_MAX_SHORT
    with Mortal(tmp_path / "data", SETTINGS) as broker, starter(broker.bootstrap) as start:
        writer, reader = start(CONFLUENT, "writer"), start(CONFLUENT, "reader")
        with Backstage(broker.bootstrap) as backstage:
            for topic in ("source", "target"):
                backstage.create_topic(topic, PARTITIONS)
        reader.assign(*(("target", index) for index in range(PARTITIONS)), isolation="read_committed")
        written: dict[int, list[bytes | None]] = defaultdict(list)
        with Copiers(broker.bootstrap, "source", "target", build_franz_go()) as copiers:
            for number in range(rounds):
                write(writer, written, number)
                moment = time.monotonic() + random.uniform(0, pause_seconds_max)
                reader.until(lambda moment=moment: time.monotonic() >= moment, "it is time")  # type: ignore[misc]
                if number % _BROKER_DIES == _BROKER_DIES - 2:
                    broker.die_and_return(Moment.ANY, "", random)
                else:
                    copiers.kill_one(random)
                copiers.tend()

            def all_is_copied() -> bool:
                copiers.tend()
                return len(reader.messages) >= rounds * MESSAGES_PER_ROUND

            reader.until(all_is_copied, "all is copied")
        writer.send("target", *(Message(_END, partition=index) for index in range(PARTITIONS)))
        reader.until(lambda: reader.values.count(_END) == PARTITIONS, "what they had begun is over")
        for partition, values in written.items():
            found = [message.value for message in reader.messages if message.partition == partition]
            assert found == [*values, _END]


def write(writer: ClientProcess, written: dict[int, list[bytes | None]], number: int) -> None:
    """Add the messages of a round to the source."""
    messages = []
    for value in range(number * MESSAGES_PER_ROUND, (number + 1) * MESSAGES_PER_ROUND):
        messages.append(Message(b"%d" % value, partition=value % PARTITIONS))
        written[value % PARTITIONS].append(b"%d" % value)
    writer.send("source", *messages, idempotent=True)
