"""What may happen to a broker on any day, each thing drawn at random where there is something to draw.

`HAPPENINGS` is the list; a drill calls one in every round. None of them harms what the drill's clients were promised:
topics of theirs are changed only in ways that keep all that counts.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Any, Final

from ottla.broker.network.apis import SERVED
from ottla.cluster.topic_names import GROUP_TOPIC, TRANSACTION_TOPIC
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.registry import api
from tests.pressure.random_requests import RandomRequests, damaged
from tests.soak.besieged import Besieged
from tests.support.backstage import Backstage
from tests.support.batches import batch
from tests.support.client import Client
from tests.support.fetched import records_in
from tests.support.patience import PATIENCE_SECONDS
from tests.support.wire import Connection, ConnectionClosedError, SilenceError

#: Where groups and transactions are kept.
STATE_TOPICS: Final = (GROUP_TOPIC, TRANSACTION_TOPIC)
HOSTILE: Final = "hostile"
_CHURN: Final = "churn"
_BOMB: Final = batch(payload=gzip.compress(bytes(1 << 24)), attributes=1, count=1_000_000, last_offset_delta=999_999)
_WORDS_OF_PRODUCERS: Final = ("Produce", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn")
#: The first node is never down, and leads what is asked of it here.
_FIRST: Final = 1


class Stage:
    """Who is to suffer."""

    def __init__(self, broker: Besieged, random: Random, *, orders: Sequence[str], ledger: str) -> None:
        self.broker = broker
        self.random = random
        self.orders = orders
        self.ledger = ledger
        self.topics_made = 0
        self._kept = {*orders, ledger, *STATE_TOPICS}

    @property
    def address(self) -> str:
        """The first node's."""
        return self.broker.bootstrap.partition(",")[0]

    def create(self, topic: str, **configs: str) -> None:
        """Make a topic that the first node alone has."""
        listed = [CreateTopicsRequest.CreatableTopicConfig(name.replace("_", "."), v) for name, v in configs.items()]
        assignment = [CreateTopicsRequest.CreatableReplicaAssignment(0, [_FIRST])]
        new = CreateTopicsRequest.CreatableTopic(topic, -1, -1, assignment, listed)
        with Client(self.address, timeout_seconds=PATIENCE_SECONDS) as client:
            assert not client.ask(CreateTopicsRequest([new], 10_000), 7).topics[0].error_code

    def tidy(self) -> None:
        """Delete every topic that is nobody's."""
        with Client(self.address, timeout_seconds=PATIENCE_SECONDS) as client:
            names = [topic.name for topic in client.ask(MetadataRequest(topics=None), 12).topics]
            left = [name for name in names if name not in self._kept]
            deleted = client.ask(DeleteTopicsRequest(topic_names=left, timeout_ms=10_000), 4)
            assert all(not topic.error_code for topic in deleted.responses)


def is_killed(stage: Stage) -> None:
    """kill -9."""
    stage.broker.restart(hard=True)


def is_stopped(stage: Stage) -> None:
    """SIGTERM."""
    stage.broker.restart(hard=False)


def loses_its_power(stage: Stage) -> None:
    """What was flushed before it was acknowledged is there, of everybody; of anything else what came first, or all."""
    stage.broker.may_say("log.cut", "metadata.damaged", "cluster.journal.cut")
    topics = {"flushed": "1", "unflushed": str(2**63 - 1)}
    with Backstage(stage.address) as backstage:
        for topic in (*stage.orders, stage.ledger, *STATE_TOPICS):
            backstage.change_topic(topic, {"flush.messages": "1"})
    for topic, flush_messages in topics.items():
        stage.create(topic, flush_messages=flush_messages, internal_segment_bytes="3000", retention_ms="-1")
    values = [b"%d" % number * 100 for number in range(stage.random.randrange(10, 60))]

    def produce() -> None:
        with Backstage(stage.address) as backstage:
            for value in values:
                for topic in topics:
                    backstage.produce(topic, records=batch([(None, value)]))

    stage.broker.lose_power(stage.random, produce)
    assert _values(stage, "flushed") == values
    found = _values(stage, "unflushed")
    assert found == values[: len(found)]
    stage.tidy()


def _values(stage: Stage, topic: str) -> list[bytes | None]:
    """All that is in a topic of one partition."""
    wanted = FetchRequest.FetchPartition(0, partition_max_bytes=1 << 20)
    request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchRequest.FetchTopic(topic, partitions=[wanted])])
    values: list[bytes | None] = []
    with Client(stage.address, timeout_seconds=PATIENCE_SECONDS) as client:
        while True:
            wanted.fetch_offset = len(values)
            answer = client.ask(request, 11).responses[0].partitions[0]
            assert not answer.error_code, ErrorCode(answer.error_code)
            records = records_in(answer.records or b"")
            if not records:
                return values
            values += [record.value for record in records]


def has_no_room(stage: Stage) -> None:
    _fail(stage, "ENOSPC")


def has_a_broken_disk(stage: Stage) -> None:
    _fail(stage, "EIO")


def _fail(stage: Stage, error: str) -> None:
    """A log goes offline by it, and is well again after a restart, in whichever way that comes."""
    stage.broker.may_say("log.offline", "log.cleaning.stopped", "group.write.failed", "group_log.load.failed")
    stage.broker.may_say("transaction.write.failed", "transaction_log.load.failed")
    word = stage.random.choice([*stage.orders, stage.ledger, *STATE_TOPICS])
    stage.broker.fail_disk(error, f"/{word}-", stage.random.randrange(1, 4))
    stage.broker.restart(hard=stage.random.random() < 0.5)


def cannot_note_a_change(stage: Stage) -> None:
    """A topic that is refused, for the journal can't be written, may be there after the end, and others must be."""
    stage.broker.may_say("cluster.journal.failed")
    name, error = "unlucky", 0

    def create() -> None:
        nonlocal error
        with Client(stage.address, timeout_seconds=PATIENCE_SECONDS) as client:
            new = CreateTopicsRequest.CreatableTopic(name, 1, 1)
            error = client.ask(CreateTopicsRequest([new], 10_000), 7).topics[0].error_code

    stage.broker.fail_disk("EIO", "/cluster.journal", meanwhile=create)
    assert error in (ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR)
    stage.broker.restart(hard=True)
    with Client(stage.address, timeout_seconds=PATIENCE_SECONDS) as client:
        known = {topic.name for topic in client.ask(MetadataRequest(topics=None), 12).topics}
    assert error or name in known
    stage.tidy()


def loses_a_node(stage: Stage) -> None:
    """One dies, or one that has died is back."""
    for node_id in list(stage.broker.nodes_down):
        stage.broker.start_node(node_id)
        return
    stage.broker.stop_node(stage.random.choice((2, 3)))


def is_hung_up_on(stage: Stage) -> None:
    """Connections are reset after part of a request, or of an answer."""
    whole = batch([(None, stage.random.randbytes(5_000))])
    for _ in range(30):
        connection = Connection(stage.random.choice(_up(stage)))
        with suppress(ConnectionClosedError):
            connection.send(damaged(stage.random, len(whole).to_bytes(4) + whole))
            for _ in range(stage.random.randrange(20)):
                connection.send_request(18, 0, b"", flexible=False)
        connection.reset()


def cuts_off_a_client(stage: Stage) -> None:
    """Who writes, or ends a transaction, hears nothing of what came of it, or nothing came of it."""
    stage.broker.cut_off(stage.random.choice(_WORDS_OF_PRODUCERS), stage.random.choice(("request", "answer", "end")))


def is_attacked(stage: Stage) -> None:
    """Requests with values that nobody would send, damaged ones, a bomb; in the end all that they made is removed."""
    stage.create(HOSTILE)
    requests = RandomRequests(stage.random, topic=HOSTILE, group_id=HOSTILE)
    served = [(one.key, v) for one in SERVED.values() for v in range(one.version_first_served, one.version_last + 1)]
    for key, version in stage.random.sample(served, 40):
        body = requests.message(api(key).request, version).encode(version)
        if stage.random.random() < 0.4:
            body = damaged(stage.random, body)
        if any(topic.encode() in body for topic in STATE_TOPICS):
            continue
        with (
            Client(stage.address, timeout_seconds=PATIENCE_SECONDS) as client,
            suppress(ConnectionClosedError, SilenceError),
        ):
            client.send_body(api(key), version, body, answered=False)
            client.send(ApiVersionsRequest(), 0)
            client.connection.receive_frame(timeout_seconds=0.05)
    with Backstage(stage.address) as backstage, suppress(ConnectionClosedError):
        backstage.try_to_produce(HOSTILE, records=_BOMB)
    stage.tidy()


def is_told_otherwise(stage: Stage) -> None:
    """Configs of topics at work change, in ways that leave what counts."""
    random = stage.random
    with Backstage(stage.address) as backstage:
        for topic in stage.orders:
            backstage.change_topic(
                topic,
                {
                    "internal.segment.bytes": str(random.choice((20_000, 50_000, 1_000_000))),
                    "flush.messages": str(random.choice((1, 100, 2**63 - 1))),
                    "segment.ms": str(random.choice((100, 10_000_000))),
                    "min.insync.replicas": str(random.choice((1, 2))),
                },
            )
        backstage.change_topic(
            stage.ledger,
            {
                "cleanup.policy": random.choice(("compact", "compact,delete")),
                "retention.ms": "-1",
                "internal.segment.bytes": str(random.choice((20_000, 40_000, 80_000))),
                "delete.retention.ms": str(random.choice((0, 2**63 - 1))),
                "min.cleanable.dirty.ratio": str(random.choice((0.01, 0.5))),
            },
        )


def has_its_policies_changed(stage: Stage) -> None:
    """A topic that may lose everything is written, cleaned and shortened at once; it stays online, and goes on."""
    stage.create(_CHURN, cleanup_policy="compact", internal_segment_bytes="3000", min_cleanable_dirty_ratio="0.01")
    end_offset = 0
    with Backstage(stage.address) as backstage:
        for _ in range(10):
            for number in range(20):
                backstage.produce(_CHURN, records=batch([(b"%d" % (number % 7), bytes(400)), (b"all", b"")]))
                end_offset += 2
            policy = stage.random.choice(("compact", "delete", "compact,delete"))
            retention = {"retention.bytes": str(stage.random.choice((-1, 0, 5_000))), "retention.ms": "-1"}
            backstage.change_topic(_CHURN, {"cleanup.policy": policy, **retention})
        assert backstage.end_offset(_CHURN) == end_offset
    stage.tidy()


def has_topics_made_anew(stage: Stage) -> None:
    """Under the same name: nothing of the one before is there, be there a kill in between."""
    stage.topics_made += 1
    name = f"again-{stage.topics_made}"
    for _ in range(3):
        stage.create(name, cleanup_policy=stage.random.choice(("compact", "delete")), internal_segment_bytes="2000")
        if stage.random.random() < 0.3:
            stage.broker.restart(hard=True)
        with Backstage(stage.address) as backstage:
            assert backstage.end_offset(name) == 0
            for number in range(20):
                backstage.produce(name, records=batch([(b"%d" % (number % 3), bytes(500))]))
            backstage.delete_topic(name)
            assert backstage.try_to_produce(name) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _up(stage: Stage) -> list[str]:
    """The addresses of the nodes that are up."""
    addresses = enumerate(stage.broker.bootstrap.split(","), _FIRST)
    return [address for node_id, address in addresses if node_id not in stage.broker.nodes_down]


HAPPENINGS: Final[Sequence[Callable[[Stage], Any]]] = (
    is_killed,
    is_stopped,
    loses_its_power,
    has_no_room,
    has_a_broken_disk,
    cannot_note_a_change,
    loses_a_node,
    is_hung_up_on,
    cuts_off_a_client,
    is_attacked,
    is_told_otherwise,
    has_its_policies_changed,
    has_topics_made_anew,
)
