"""Produce: what is appended, and every way a batch can be wrong."""

from __future__ import annotations

import time

from ottla.conformance.batches import batch, record, stored
from ottla.conformance.partitions import absent_topic, fetch, fill, new_topic, produce
from ottla.conformance.scene import Scene
from ottla.conformance.script import every, script
from ottla.conformance.transcript import PRODUCER_ID_OF_SCRIPTS, Json

HOUR_MS = 3_600_000
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
THREE = ((b"a", b"1"), (b"b", None), (None, b"3"))
ID = PRODUCER_ID_OF_SCRIPTS


def _now_ms() -> int:
    return int(time.time() * 1000)


@script(versions=every("Produce"))
def produce_and_read_back(scene: Scene, version: int) -> None:
    """Base offsets follow each other; what was stored comes back with them."""
    topic = new_topic(scene, partitions=2)
    ana = scene.actor()
    ana.ask(produce(topic, batch()))
    ana.ask(produce(topic, batch(THREE), batch()), version)
    ana.ask(produce(topic, batch(base_timestamp=_now_ms())))
    ana.ask(fetch(topic, 0, 0), 12)


@script(versions=every("Produce"))
def produce_with_any_acks(scene: Scene, version: int) -> None:
    """-1, 0 and 1; anything else is refused; 0 is never answered, and an error then closes the connection."""
    topic = new_topic(scene)
    ana = scene.actor()
    for acks in (-1, 1, 2, -2):
        ana.ask(produce(topic, batch(), acks=acks))
    ana.send(produce(topic, batch(), acks=0), answered=False)
    ana.ask(fetch(topic, 0), 11)
    ana.send(produce(topic, batch(crc_added=1), acks=0), answered=False)
    ana.hear_the_end()


@script(versions=every("Produce"))
def produce_to_unknown_partitions(scene: Scene, version: int) -> None:
    """An unknown topic, an unknown partition beside a good one, and nothing at all."""
    topic = new_topic(scene)
    ana = scene.actor()
    ana.ask(produce(absent_topic(scene), batch()))
    ana.ask(produce(topic, batch(), batch()))
    ana.ask(produce(topic))
    nothing = produce(topic)
    nothing.topic_data = []
    ana.ask(nothing)


@script(versions=every("Produce"))
def produce_without_a_whole_batch(scene: Scene, version: int) -> None:
    """Empty, cut off, two at once, old formats: INVALID_RECORD; a size or magic out of this world: CORRUPT_MESSAGE."""
    topic = new_topic(scene)
    ana = scene.actor()
    good = batch()
    for data in (
        b"",
        good[:5],
        good[:30],
        good[:-1],
        good + good,
        good + b"stray",
        batch(magic=0),
        batch(magic=1),
        batch(magic=3),
        batch(magic=-1),
        batch(length_added=-60),
        batch(length_added=1),
        batch(length_added=-1),
        batch(length_added=-len(good)),
    ):
        ana.ask(produce(topic, data))


@script(versions=every("Produce"))
def produce_no_batch_beside_no_partitions(scene: Scene, version: int) -> None:
    """When all is refused at once, for bytes that are no batch, topics that list no partition are left out."""
    request = produce(new_topic(scene), b"\0" * 61)
    request.topic_data += produce(new_topic(scene, "other")).topic_data
    scene.actor().ask(request)


@script(versions=every("Produce"))
def produce_with_a_lying_header(scene: Scene, version: int) -> None:
    """Checksum, base offset, counts, control bit, producer without sequence, codec, timestamps' type."""
    topic = new_topic(scene)
    ana = scene.actor()
    for data in (
        batch(crc_added=1),
        batch(base_offset=5),
        batch(count=2),
        batch(count=0),
        batch(count=-1),
        batch((), count=0),
        batch(last_offset_delta=1),
        batch(THREE, last_offset_delta=1),
        batch(THREE, last_offset_delta=1, count=2),
        batch(attributes=0x20),
        batch(attributes=0x08),
        batch(attributes=0x40),
        batch(attributes=0x80),
        batch(attributes=0x100),
        batch(producer_id=ID, producer_epoch=0, base_sequence=-1),
        batch(producer_id=ID, producer_epoch=-1, base_sequence=0),
        batch(producer_id=-1, producer_epoch=3, base_sequence=7),
        batch(leader_epoch=7),
        batch(max_timestamp=1),
    ):
        ana.ask(produce(topic, data))
    ana.ask(fetch(topic, 0), 11)


@script(versions=every("Produce"))
def produce_with_broken_records(scene: Scene, version: int) -> None:
    """Lengths that lie, missing bytes, records left over."""
    topic = new_topic(scene)
    ana = scene.actor()
    good = record(b"k", b"v")
    for payload in (
        record(b"k", b"v", length_added=1),
        record(b"k", b"v", length_added=-1),
        good[:-1],
        good + b"\0",
        good + good,
        b"",
        b"\xff" * 11,
        b"\x01" + good[1:],
        b"\x80\x80\x80\x80\x80\x01" + good,
    ):
        ana.ask(produce(topic, batch(payload=payload)))
    ana.ask(produce(topic, batch(((b"k", b"v"), (b"k", b"v")), payload=good + record(b"k", b"v", offset_delta=5))))
    ana.ask(produce(topic, batch(payload=record(b"k", b"v", headers=[(b"h", b"x"), (b"h", None), (b"", b"")]))))


@script(versions=every("Produce"))
def produce_compressed(scene: Scene, version: int) -> None:
    """Every codec, well-formed; zstd needs v7."""
    topic = new_topic(scene)
    ana = scene.actor()
    payload = record(b"a", b"1" * 300) + record(b"b", b"2", offset_delta=1)
    for codec in (GZIP, SNAPPY, LZ4, ZSTD):
        ana.ask(produce(topic, batch(((b"", b""),) * 2, payload=stored(codec, payload), attributes=codec)))
    ana.ask(fetch(topic, 0), 11)


@script(versions=every("Produce"))
def produce_records_that_unpack_to_too_much(scene: Scene, version: int) -> None:
    """max.decompressed.message.bytes: of compressed batches alone, and by the length that a record claims."""
    ana = scene.actor()
    for kind in ("producer", "gzip", "uncompressed"):
        configs = {"max.decompressed.message.bytes": "100", "compression.type": kind}
        topic = new_topic(scene, f"{kind}-topic", configs=configs)
        ana.ask(produce(topic, batch(((b"a", b"1" * 93),))))
        for payload in (
            record(b"a", b"1" * 92),
            record(b"a", b"1" * 93),
            record(b"a", b"1", length_added=90),
            record(b"a", b"1", length_added=200),
            record(b"a", b"1", length_added=-50),
        ):
            ana.ask(produce(topic, batch(payload=stored(GZIP, payload), attributes=GZIP)))
        two = record(b"a", b"1") + record(b"b", b"2" * 200, offset_delta=1)
        ana.ask(produce(topic, batch(((b"", b""),) * 2, payload=stored(LZ4, two), attributes=LZ4)))


@script(versions=every("Produce"))
def produce_badly_compressed(scene: Scene, version: int) -> None:
    """What the codec can't read is a bare server error; so is a codec that isn't."""
    topic = new_topic(scene)
    ana = scene.actor()
    for codec in (GZIP, SNAPPY, LZ4, ZSTD, 5, 6, 7):
        ana.ask(produce(topic, batch(payload=b"no such thing as a frame", attributes=codec)))
    two = record(b"a", b"1") + record(b"b", b"2", offset_delta=1)
    ana.ask(produce(topic, batch(payload=stored(GZIP, two), attributes=GZIP)))
    ana.ask(produce(topic, batch(payload=stored(GZIP, record(b"a", b"1")[:-1]), attributes=GZIP)))


@script(versions=every("Produce"))
def produce_with_timestamps_out_of_range(scene: Scene, version: int) -> None:
    """More than an hour ahead: INVALID_TIMESTAMP, record by record; long ago, and none at all, are fine."""
    topic = new_topic(scene)
    ana = scene.actor()
    now = _now_ms()
    ana.ask(produce(topic, batch(base_timestamp=now + 2 * HOUR_MS)))
    ana.ask(produce(topic, batch(THREE, base_timestamp=now, timestamps=[now, now + 2 * HOUR_MS, now + 3 * HOUR_MS])))
    ana.ask(produce(topic, batch(base_timestamp=now + HOUR_MS // 2)))
    ana.ask(produce(topic, batch(base_timestamp=1)))
    ana.ask(produce(topic, batch(base_timestamp=-1)))


@script(versions=every("Produce"))
def produce_with_the_brokers_time(scene: Scene, version: int) -> None:
    """On a LogAppendTime topic the answer has the time, and so has the stored batch."""
    topic = new_topic(scene, configs={"message.timestamp.type": "LogAppendTime"})
    ana = scene.actor()
    ana.ask(produce(topic, batch(THREE)))
    ana.ask(produce(topic, batch(base_timestamp=_now_ms() + 2 * HOUR_MS)))
    ana.ask(produce(topic, batch(attributes=0x08)))
    ana.ask(fetch(topic, 0), 11)


@script(versions=every("Produce"))
def produce_to_a_compacted_topic(scene: Scene, version: int) -> None:
    """Records without a key are refused, each named by its index."""
    topic = new_topic(scene, configs={"cleanup.policy": "compact"})
    ana = scene.actor()
    ana.ask(produce(topic, batch(((None, b"1"), (b"k", b"2"), (None, b"3")))))
    ana.ask(produce(topic, batch(((b"k", b"2"), (b"", b"3")))))


@script(versions=every("Produce"))
def produce_too_much(scene: Scene, version: int) -> None:
    """max.message.bytes counts the whole batch, its first twelve bytes included."""
    topic, small = new_topic(scene), new_topic(scene, "small", configs={"max.message.bytes": "200"})
    ana = scene.actor()
    ana.ask(produce(topic, batch(((b"k", bytes(1_100_000)),))))
    overhead = len(batch(((b"k", bytes(100)),))) - 100
    for size in (200, 201):
        ana.ask(produce(small, batch(((b"k", bytes(size - overhead)),))))
    ana.ask(produce(topic, batch(), batch()))


@script(versions=every("Produce"))
def produce_to_internal_topics(scene: Scene, version: int) -> None:
    """Clients may not write the offsets topic."""
    name = "__consumer_offsets"
    topic = new_topic(scene).__class__(name, scene.topic_id(name))
    scene.actor().ask(produce(topic, batch()))


@script(versions=every("Produce"))
def produce_in_sequence(scene: Scene, version: int) -> None:
    """An idempotent producer: duplicates among the last five batches are answered, gaps and older ones refused."""
    topic = new_topic(scene)
    ana = scene.actor()

    def ask(sequence: int, count: int = 1, *, epoch: int = 0, producer: int = ID + version) -> None:
        records = [(b"k", b"v")] * count
        ana.ask(produce(topic, batch(records, producer_id=producer, producer_epoch=epoch, base_sequence=sequence)))

    for sequence, count in ((0, 1), (1, 1), (2, 2), *((number, 1) for number in range(4, 10))):
        ask(sequence, count)
    for sequence in (5, 9, 4, 0, 3, 2, 11, 10, 10):
        ask(sequence)
    ask(2, 2)
    ask(3, epoch=1)
    ask(0, epoch=1)
    ask(0, epoch=1)
    ask(0, epoch=0)
    ask(11, epoch=0)
    ask(77, producer=ID + 500 + version)
    ask(78, producer=ID + 500 + version)
    ask(78, producer=ID + 500 + version)
    ask(2**31 - 1, producer=ID + 600 + version)
    ask(0, producer=ID + 600 + version)
    ask(2**31 - 1, 2, producer=ID + 700 + version)
    ask(1, producer=ID + 700 + version)


@script(versions=every("Produce"))
def produce_in_a_transaction_that_is_not(scene: Scene, version: int) -> None:
    """A transactional batch without a transactional id; with one that nobody registered."""
    topic = new_topic(scene)
    ana = scene.actor()
    transactional = batch(attributes=0x10, producer_id=ID, producer_epoch=0, base_sequence=0)
    ana.ask(produce(topic, transactional))
    ana.ask(produce(topic, batch(), transactional_id=scene.name("txn")))


@script(versions=every("Produce"))
def produce_one_partition_twice(scene: Scene, version: int) -> None:
    """Listed twice in one request: the last one wins."""
    topic = new_topic(scene)
    ana = scene.actor()
    request = produce(topic, batch(((b"k", b"first"),)), batch(((b"k", b"second"),)))
    request.topic_data[0].partition_data[1].index = 0
    ana.ask(request)
    ana.ask(fetch(topic, 0), 11)
    request.topic_data[0].partition_data[0].records = None
    ana.ask(request)
    ana.ask(fetch(topic, 0), 11)


@script(versions=(9,))
def produce_recompressed(scene: Scene, version: int) -> None:
    """A topic with a compression type of its own stores batches that way: seen in the attributes."""
    payload = record(b"a", b"1" * 300) + record(b"b", b"2", offset_delta=1)
    ana = scene.actor()
    for kind in ("uncompressed", "gzip", "producer"):
        topic = new_topic(scene, f"{kind}-topic", configs={"compression.type": kind})
        fill(scene, topic, batch(((b"", b""),) * 2, payload=stored(GZIP, payload), attributes=GZIP))
        fill(scene, topic, batch(((b"", b""),) * 2, payload=payload))
        data = ana.quietly(fetch(topic, 0), 11).responses[0].partitions[0].records
        codecs: list[Json] = []
        while data:
            codecs.append(data[22] & 7)
            data = data[12 + int.from_bytes(data[8:12], "big") :]
        scene.record("ana Fetch v11", f"codecs of what is stored with compression.type={kind}", codecs)
