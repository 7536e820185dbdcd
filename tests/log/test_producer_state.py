"""Numbered batches: repeats, gaps, incarnations, and how long a producer is remembered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.log.partition import Partition
from ottla.log.producer_state import BATCHES_KEPT, ProducerSettings
from ottla.protocol.errors import ErrorCode
from tests.log.partitions import NOW_MS, batch_of, fill, new_partition, numbered, produce

SEQUENCE_MAX = 2**31 - 1
OK, OUT_OF_ORDER, FENCED = ErrorCode.NONE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.INVALID_PRODUCER_EPOCH


def sequence_after(sequence: int, count: int) -> int:
    """The sequence number `count` records later: 0 follows the largest."""
    return (sequence + count) % 2**31


class TestMeasured:
    """The idempotent producer's row, step by step, on one partition."""

    @pytest.fixture
    def partition(self) -> Partition:
        """Sequences 0, 1, 2–3, 4 … 9, at the offsets of the same numbers."""
        partition = new_partition()
        fill(partition, numbered(0), numbered(1), numbered(2, 2), *(numbered(sequence) for sequence in range(4, 10)))
        assert partition.log_end_offset == 10
        return partition

    def test_a_repeat_is_answered_as_the_first_time(self, partition: Partition) -> None:
        """With its offset, and with its time even where the producer's clock counts."""
        answer = produce(partition, numbered(5), wall_ms=NOW_MS + 99)
        assert (answer.error, answer.base_offset, answer.log_append_time_ms) == (OK, 5, NOW_MS)
        assert (answer.last_offset, answer.log_start_offset) == (5, 0)
        assert partition.log_end_offset == 10

    @pytest.mark.parametrize(
        ("first_sequence", "count"),
        [(4, 1), (0, 1), (3, 1), (2, 2), (5, 2), (8, 2), (9, 2), (11, 1), (SEQUENCE_MAX, 1)],
    )
    def test_neither_a_repeat_nor_the_next(self, partition: Partition, first_sequence: int, count: int) -> None:
        """Out of the last five, inside or across batches, or with a gap: one and the same code."""
        answer = produce(partition, numbered(first_sequence, count))
        assert (answer.error, answer.base_offset, answer.log_start_offset) == (OUT_OF_ORDER, -1, 0)
        assert partition.log_end_offset == 10

    def test_a_new_incarnation_begins_at_0(self, partition: Partition) -> None:
        """And fences the old one, whose batches are forgotten."""
        assert produce(partition, numbered(3, epoch=1)).error == OUT_OF_ORDER
        assert produce(partition, numbered(0, epoch=1)).base_offset == 10
        assert produce(partition, numbered(10, epoch=0)).error == FENCED
        assert produce(partition, numbered(9, epoch=0)).error == FENCED
        assert produce(partition, numbered(9, epoch=1)).error == OUT_OF_ORDER
        assert produce(partition, numbered(1, epoch=1)).base_offset == 11

    def test_a_producer_nobody_knows_may_begin_anywhere(self, partition: Partition) -> None:
        """Its records may have been removed."""
        assert produce(partition, numbered(77, producer_id=8)).base_offset == 10
        assert produce(partition, numbered(78, producer_id=8)).base_offset == 11
        assert produce(partition, numbered(77, producer_id=8)).base_offset == 10

    def test_who_has_no_id_has_no_numbers(self, partition: Partition) -> None:
        """Without producer id, epoch and sequence mean nothing."""
        for _ in range(2):
            fill(partition, numbered(5, producer_id=-1, epoch=3))
        assert partition.log_end_offset == 12
        assert [entry.producer_id for entry in partition.producers] == [7]

    def test_producers_do_not_meet(self, partition: Partition) -> None:
        """Each has its own numbers."""
        fill(partition, numbered(0, producer_id=1), numbered(10), numbered(1, producer_id=1))
        assert partition.log_end_offset == 13


def test_numbers_wrap_around() -> None:
    """After 2147483647 comes 0, within a batch or between two; the batch across is recognised when it is repeated."""
    partition = new_partition()
    across = numbered(SEQUENCE_MAX - 1, 3)
    fill(partition, across, numbered(1))
    answer = produce(partition, across)
    assert (answer.base_offset, answer.last_offset) == (0, 2)
    fill(partition, numbered(SEQUENCE_MAX, producer_id=8), numbered(0, producer_id=8))
    assert produce(partition, numbered(2, producer_id=8)).error == OUT_OF_ORDER


def test_an_epoch_below_zero_is_no_epoch() -> None:
    """Measured: such a producer may send any numbers."""
    partition = new_partition()
    fill(partition, numbered(4, epoch=-1), numbered(9, epoch=-1))
    assert partition.log_end_offset == 2


def test_a_repeat_is_found_before_anything_else_about_the_producer() -> None:
    """But after the batch itself was looked at: a repeat with a bad checksum is a bad batch."""
    partition = new_partition({"max.message.bytes": "1000"})
    fill(partition, numbered(0))
    assert produce(partition, numbered(0, crc_added=1)).error == ErrorCode.CORRUPT_MESSAGE
    partition.config.rules.max_message_bytes = 10
    assert produce(partition, numbered(0)).error == ErrorCode.MESSAGE_TOO_LARGE


def test_the_broker_shows_its_producers() -> None:
    """What DescribeProducers tells: the latest epoch, sequence and timestamp of each."""
    partition = new_partition()
    fill(partition, numbered(0, 3), numbered(0, 2, epoch=1, base_timestamp=NOW_MS + 5), batch_of(1))
    (entry,) = partition.producers
    assert (entry.producer_id, entry.producer_epoch, entry.last_sequence) == (7, 1, 1)
    assert (entry.last_timestamp, entry.coordinator_epoch, entry.transaction_first_offset) == (NOW_MS + 5, -1, None)


class TestExpiry:
    """A producer that has been silent for producer.id.expiration.ms is forgotten."""

    def test_by_the_timestamps_of_its_records(self) -> None:
        """At the limit, not before; then any number is accepted again, and repeats are not recognised."""
        partition = new_partition(settings=ProducerSettings(producer_id_expiration_ms=1000))
        fill(partition, numbered(0), numbered(0, producer_id=8, base_timestamp=NOW_MS + 10))
        partition.producers.remove_expired(NOW_MS + 999)
        assert [entry.producer_id for entry in partition.producers] == [7, 8]
        partition.producers.remove_expired(NOW_MS + 1000)
        assert [entry.producer_id for entry in partition.producers] == [8]
        assert produce(partition, numbered(5)).base_offset == 2
        assert produce(partition, numbered(0, producer_id=8)).base_offset == 1

    def test_not_with_its_records(self) -> None:
        """Deleting all it wrote leaves the producer in mind: its repeats stay repeats."""
        partition = new_partition({"retention.ms": "0"})
        fill(partition, numbered(0))
        partition.apply_retention(NOW_MS + 1)
        assert partition.log_start_offset == 1
        assert produce(partition, numbered(0)).base_offset == 0
        assert produce(partition, numbered(2)).error == OUT_OF_ORDER

    def test_not_with_a_transaction_open(self) -> None:
        """Forgetting it would leave readers of committed records waiting for ever."""
        partition = new_partition(settings=ProducerSettings(1000, transaction_partition_verification_enable=False))
        fill(partition, numbered(0, attributes=0x10))
        partition.producers.remove_expired(NOW_MS + 5000)
        assert len(partition.producers) == 1


class Model:
    """One producer's numbers, told the slow way: every batch it ever had accepted, in order."""

    def __init__(self) -> None:
        self.epoch = -1
        self.accepted: list[tuple[int, int, int]] = []

    def expected(self, epoch: int, first: int, count: int, log_end_offset: int) -> tuple[ErrorCode, int]:
        """(error, base offset) of the answer, and what it means for the next."""
        last = sequence_after(first, count - 1)
        if epoch == self.epoch:
            for kept_first, kept_last, offset in self.accepted[-BATCHES_KEPT:]:
                if (kept_first, kept_last) == (first, last):
                    return OK, offset
        if epoch < self.epoch:
            return FENCED, -1
        if self.epoch >= 0:
            due = 0 if epoch > self.epoch else sequence_after(self.accepted[-1][1], 1)
            if first != due:
                return OUT_OF_ORDER, -1
        if epoch > self.epoch:
            self.accepted.clear()
            self.epoch = epoch
        self.accepted.append((first, last, log_end_offset))
        return OK, log_end_offset


#: Where a batch begins, told by what the producer sent before: the next, one sent earlier, or off by some.
STEPS = st.tuples(
    st.sampled_from([1, 2]),
    st.sampled_from(["next", "next", "next", "again", "off", "reborn", "zombie"]),
    st.integers(1, 4),
    st.integers(0, 8),
)


@given(st.sampled_from([0, 5, SEQUENCE_MAX - 6, SEQUENCE_MAX]), st.lists(STEPS, max_size=40))
def test_every_answer_is_the_models(first: int, steps: list[tuple[int, str, int, int]]) -> None:
    """Two producers in any order of new, repeated, misnumbered and outdated batches, also across the wrap."""
    partition = new_partition()
    models = {1: Model(), 2: Model()}
    for producer_id, kind, drawn, back in steps:
        model, count = models[producer_id], drawn
        epoch = max(model.epoch, 0)
        sent = model.accepted
        following = sequence_after(sent[-1][1], 1) if sent else first
        if kind == "again" and sent:
            following, last, _ = sent[-min(back + 1, len(sent))]
            count = (last - following) % 2**31 + 1
        elif kind == "off":
            following = sequence_after(following, back - 4)
        elif kind == "reborn":
            epoch, following = epoch + 1, 0 if back else following
        elif kind == "zombie":
            epoch -= 1
        if epoch < 0:
            continue
        expected = model.expected(epoch, following, count, partition.log_end_offset)

        answer = produce(partition, numbered(following, count, producer_id=producer_id, epoch=epoch))

        assert (answer.error, answer.base_offset) == expected
