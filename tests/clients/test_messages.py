"""What producers send is what consumers get, whoever produces and whoever consumes."""

from __future__ import annotations

import pytest

from ottla.protocol.errors import ErrorCode
from tests.clients.client_process import AN_HOUR_AGO_MS, ClientProcess, Message, refused
from tests.clients.conftest import MakeTopic, SharedClients, Start, shared, unique_name
from tests.clients.libraries import CODECS, LIBRARIES, Library, name_of, who_can
from tests.support.backstage import Backstage


def messages_of(writer: str, codec: str) -> list[Message]:
    """Messages with keys, headers, timestamps and nulls, and enough alike that a codec finds something to do."""
    name = f"{writer} {codec}".encode()
    plain = [Message(b"%s %03d" % (name, number), timestamp_ms=AN_HOUR_AGO_MS + number) for number in range(50)]
    return [
        *plain,
        Message(name + b" has a key", key=b"key", timestamp_ms=AN_HOUR_AGO_MS),
        Message(name + b" is empty in parts", key=b"", headers=(("empty", b""),), timestamp_ms=AN_HOUR_AGO_MS),
        Message(b"", key=name, timestamp_ms=AN_HOUR_AGO_MS),
        Message(None, key=name, timestamp_ms=AN_HOUR_AGO_MS),
        Message(
            name + bytes(range(256)), headers=(("a", b"1"), ("b", b"\xff\0"), ("a", b"2")), timestamp_ms=AN_HOUR_AGO_MS
        ),
    ]


def as_sent(message: Message) -> Message:
    """A received message without what only the broker knows."""
    return message._replace(topic=None, partition=None, offset=None)


@pytest.mark.parametrize("reader", LIBRARIES, ids=name_of)
def test_every_library_reads_what_every_library_wrote_in_every_codec(
    reader: Library, start: Start, everything_written: tuple[str, list[Message]]
) -> None:
    """Keys, values, headers, their order, timestamps and nulls come through, and so does the order of the log."""
    topic, written = everything_written
    bo = start(reader, "bo")
    bo.assign((topic, 0))
    bo.until(lambda: len(bo.messages) >= len(written), f"{len(written)} messages are read")
    assert [as_sent(message) for message in bo.messages] == written
    assert [message.offset for message in bo.messages] == list(range(len(written)))


@pytest.fixture(scope="module")
def everything_written(
    backstage: Backstage, bootstrap: str, shared_clients: SharedClients
) -> tuple[str, list[Message]]:
    """A topic into which every library wrote in every codec, and what it holds."""
    topic = unique_name("everything")
    backstage.create_topic(topic)
    written: list[Message] = []
    for library in LIBRARIES:
        if library.missing():
            continue
        ana = shared(library, bootstrap, shared_clients)
        for codec in CODECS:
            messages = messages_of(library.name, codec)
            stored = ana.send(topic, *messages, codec=codec)
            assert stored == [(0, offset) for offset in range(len(written), len(written) + len(messages))]
            written += messages
    return topic, written


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acks(client: ClientProcess, acks: str, make_topic: MakeTopic) -> None:
    """Whatever acknowledgement is asked for, the messages are there; without any the client knows no offsets."""
    topic = make_topic()
    stored = client.send(topic, b"a", b"b", acks=acks)
    client.assign((topic, 0))
    client.until(lambda: client.values == [b"a", b"b"], "both messages are read")
    if acks != "0":
        assert stored == [(0, 0), (0, 1)]


@pytest.mark.parametrize("library", who_can("idempotence"), ids=name_of)
def test_idempotent_producer(client: ClientProcess, make_topic: MakeTopic) -> None:
    """Many small batches in flight, and each message is there once, in order, on both partitions."""
    topic = make_topic(partitions=2)
    messages = [Message(b"%d" % number, partition=number % 2) for number in range(1_000)]
    stored = client.send(topic, *messages, idempotent=True)
    assert stored == [(number % 2, number // 2) for number in range(1_000)]
    client.assign((topic, 1))
    client.until(lambda: len(client.messages) >= 500, "partition 1 is read")
    assert client.values == [b"%d" % number for number in range(1, 1_000, 2)]


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_large_message(client: ClientProcess, make_topic: MakeTopic) -> None:
    """A message just below the limit passes both ways; one above it is refused, and the log stays as it was."""
    topic = make_topic()
    large = b"x" * 1_048_000  # a batch's header and a record's lengths still fit below 1048588
    assert client.send(topic, large, bytes_max=2_000_000) == [(0, 0)]
    with refused(ErrorCode.MESSAGE_TOO_LARGE):
        client.send(topic, large + b"x" * 1_000, bytes_max=2_000_000)
    assert client.send(topic, b"small") == [(0, 1)]
    client.assign((topic, 0))
    client.until(lambda: client.values == [large, b"small"], "both are read")


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_topic_has_its_own_limit(client: ClientProcess, make_topic: MakeTopic) -> None:
    """max.message.bytes of a topic goes before the broker's limit, both ways."""
    small, wide = make_topic(**{"max.message.bytes": "1000"}), make_topic(**{"max.message.bytes": "3000000"})
    with refused(ErrorCode.MESSAGE_TOO_LARGE):
        client.send(small, b"x" * 1_000)
    assert client.send(wide, b"x" * 2_000_000, bytes_max=3_000_000) == [(0, 0)]


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_broker_dates_messages(client: ClientProcess, make_topic: MakeTopic) -> None:
    """With message.timestamp.type=LogAppendTime the broker's clock counts, not the producer's."""
    topic = make_topic(**{"message.timestamp.type": "LogAppendTime"})
    client.send(topic, Message(b"old", timestamp_ms=AN_HOUR_AGO_MS))
    client.assign((topic, 0))
    client.until(lambda: client.values == [b"old"], "the message is read")
    (message,) = client.messages
    assert message.timestamp_ms is not None
    assert message.timestamp_ms > AN_HOUR_AGO_MS


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_topic_is_created_by_its_first_message(client: ClientProcess) -> None:
    """auto.create.topics.enable is on by default: the producer's question for the topic makes it."""
    assert client.send(unique_name("new"), b"a") == [(0, 0)]


@pytest.mark.parametrize("library", who_can("creating by subscription"), ids=name_of)
def test_topic_is_created_by_its_first_subscriber(library: Library, start: Start, group: str) -> None:
    """Who subscribes to a topic that isn't there makes it, and gets its partition as soon as it sees it."""
    topic = unique_name("new")
    ana = start(library, "ana")
    ana.subscribe(group=group, topics=[topic], metadata_max_age_ms=200, turn_seconds=60)
    ana.until(lambda: ana.holds == {(topic, 0)}, "the partition of the new topic is held")
    start(library, "bo").send(topic, b"a")
    ana.until(lambda: ana.values == [b"a"], "the message is read")
