"""Kafka Streams with exactly_once_v2: what an application is for, and what it asks of a broker.

It comes from Maven, and is skipped where there is none, or no Java. It uses most of what transactions are made of: its
own topics, with DeleteRecords behind what was read; a store that is restored from a topic after each start; offsets in
transactions, and a group whose members are killed.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from tests.clients.client_process import Message
from tests.clients.conftest import SETTINGS, starter
from tests.clients.java import STREAMS_JARS, compile_java, java_process, missing_java
from tests.clients.libraries import CONFLUENT
from tests.support.backstage import Backstage
from tests.support.ottla_process import ottla
from tests.support.soak import IS_SOAK

WORDS: Final = 4_000
DIFFERENT_WORDS: Final = 20
PARTITIONS: Final = 3
#: Transactions of whoever was killed are aborted soon.
BROKER: Final = SETTINGS | {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"}
APPLICATION: Final = "word-count"

pytestmark = [
    pytest.mark.own_broker,
    pytest.mark.skipif(missing_java(STREAMS_JARS) is not None, reason=str(missing_java(STREAMS_JARS))),
]


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_java("WordCount", tmp_path_factory.mktemp("classes"), STREAMS_JARS)


@pytest.mark.soak
@pytest.mark.parametrize("store", ["memory", "rocksdb"] if IS_SOAK else ["memory"])
def test_an_application_that_is_killed_counts_exactly_once(store: str, classes: Path, tmp_path: Path) -> None:
    """It is killed in mid-way, and started again; each word's counts are there from 1 on, once, and nothing else is.

    With RocksDB the one that follows has the transactional id of the one that was killed, and fences it; in memory it
    has another one, and waits until the transaction has timed out.
    """
    with ottla(BROKER) as broker, Backstage(broker.bootstrap) as behind, starter(broker.bootstrap) as start:
        writer, reader = start(CONFLUENT, "writer"), start(CONFLUENT, "reader")
        for topic in ("source", "target"):
            behind.create_topic(topic, PARTITIONS)
        words = [b"word-%d" % (number % DIFFERENT_WORDS) for number in range(WORDS)]
        writer.send("source", *(Message(word, partition=at % PARTITIONS) for at, word in enumerate(words)))
        reader.assign(*(("target", index) for index in range(PARTITIONS)), isolation="read_committed")
        for seen in (WORDS // 10, WORDS):
            arguments = (broker.bootstrap, "source", "target", APPLICATION, store, tmp_path)
            with java_process("WordCount", *arguments, jars=STREAMS_JARS, classes=classes) as application:
                reader.until(
                    lambda seen=seen: len(reader.messages) >= seen or application.poll() is not None,  # type: ignore[misc]
                    f"{seen} counts are there",
                )
                assert application.poll() is None, "the application has failed; why stands on stderr"
        expected = {word: list(range(1, often + 1)) for word, often in Counter(words).items()}
        assert counts(reader.messages) == expected
        repartition = f"{APPLICATION}-KSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition"
        assert sum(behind.start_offset(repartition, index) for index in range(PARTITIONS)) > 0


def counts(messages: list[Message]) -> dict[bytes, list[int]]:
    """What was said of each word, in its order."""
    counts: dict[bytes, list[int]] = {}
    for message in messages:
        assert message.key is not None
        counts.setdefault(message.key, []).append(int(message.value or b""))
    return counts
