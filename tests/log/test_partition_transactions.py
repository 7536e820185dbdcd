"""The partition's side of transactions: who may write, what readers of committed records see, what they must leave out.

The rows are measured on Kafka 4.3.1.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.log.partition import Partition
from ottla.log.partition_answers import AppendResult, IsolationLevel
from ottla.log.producer_state import ProducerSettings, Verification
from ottla.log.transaction_marker import TransactionMarker, read_marker
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records import read_header
from tests.log.partitions import (
    NOW_MS,
    batch_of,
    fill,
    new_partition,
    numbered,
    offsets_of,
    produce,
    read_all,
    sized_batch,
)

UNCOMMITTED, COMMITTED = IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED
TRANSACTIONAL = 0x10
COMMIT, ABORT = True, False


def verify(
    partition: Partition, first_sequence: int, producer_id: int = 7, epoch: int = 0, *, version_2: bool = False
) -> Verification | None:
    """What the coordinator's consent brings; None where the transaction is open here already."""
    verification = partition.producers.start_verification(producer_id, epoch, first_sequence, version_2, NOW_MS)
    assert not isinstance(verification, ErrorCode)
    return verification


def transact(
    partition: Partition, first_sequence: int, count: int = 1, producer_id: int = 7, epoch: int = 0
) -> AppendResult:
    """A batch in a transaction that the coordinator knows of."""
    verification = verify(partition, first_sequence, producer_id, epoch)
    data = numbered(first_sequence, count, producer_id=producer_id, epoch=epoch, attributes=TRANSACTIONAL)
    return produce(partition, data, verification=verification)


def end(
    partition: Partition,
    is_commit: bool,
    producer_id: int = 7,
    epoch: int = 0,
    *,
    coordinator_epoch: int = 0,
    version: int = 1,
) -> AppendResult:
    return partition.append_marker(
        TransactionMarker(is_commit, coordinator_epoch), producer_id, epoch, version, NOW_MS + 50
    )


def aborted(partition: Partition, fetch_offset: int, bytes_max: int = 1 << 20) -> list[tuple[int, int]]:
    """(producer id, first offset) of what a reader of committed records is told to leave out."""
    read = partition.read(fetch_offset, bytes_max, COMMITTED)
    assert read.aborted is not None
    return [(transaction.producer_id, transaction.first_offset) for transaction in read.aborted]


class TestMeasured:
    """One plain record at 0, then a transaction's records at 1 and 2."""

    @pytest.fixture
    def partition(self) -> Partition:
        partition = new_partition()
        fill(partition, batch_of(1))
        assert [transact(partition, sequence).base_offset for sequence in (0, 1)] == [1, 2]
        return partition

    @pytest.mark.parametrize("is_commit", [COMMIT, ABORT])
    def test_its_marker_counts_when_all_replicas_have_it(self, partition: Partition, is_commit: bool) -> None:
        """Kafka: UnifiedLog.completeTransaction, maybeIncrementFirstUnstableOffset."""
        partition.hold_high_watermark(held=True)
        end(partition, is_commit)
        assert (partition.high_watermark, partition.last_stable_offset) == (3, 1)
        assert transact(partition, 0, epoch=1).base_offset == 4
        partition.hold_high_watermark(held=False)
        assert (partition.high_watermark, partition.last_stable_offset) == (5, 4)

    def test_while_it_is_open(self, partition: Partition) -> None:
        """Committed readers stop where it began; the others see all. Both are told both ends."""
        for isolation, offsets in ((COMMITTED, [0]), (UNCOMMITTED, [0, 1, 2])):
            read = partition.read(0, 1000, isolation)
            assert (read.high_watermark, read.last_stable_offset) == (3, 1)
            assert offsets_of(read_all(partition, isolation)) == offsets
            assert read.aborted == (None if isolation is UNCOMMITTED else [])
        assert partition.read(1, 1000, COMMITTED).records == b""

    def test_plain_batches_of_others_are_held_back_too(self, partition: Partition) -> None:
        """What comes after the first open record waits with it."""
        fill(partition, batch_of(1))
        assert (partition.high_watermark, partition.last_stable_offset) == (4, 1)
        assert offsets_of(read_all(partition, COMMITTED)) == [0]

    def test_lookups_stop_there_too(self, partition: Partition) -> None:
        """ListOffsets: latest is the last stable offset, and nothing beyond it is found."""
        assert partition.offset_for_timestamp(-1, COMMITTED).offset == 1
        assert partition.offset_for_timestamp(-1, UNCOMMITTED).offset == 3
        partition.delete_records(2)
        assert (partition.log_start_offset, partition.last_stable_offset) == (2, 2)
        assert partition.offset_for_timestamp(0, COMMITTED).offset == -1
        assert partition.offset_for_timestamp(0, UNCOMMITTED).offset == 2
        assert partition.offset_for_timestamp(-1, COMMITTED).offset == 2

    def test_where_its_beginning_is_gone(self) -> None:
        """They stop before the whole batch that the log begins with now, which may be before its start. Kafka:
        UnifiedLog.maybeIncrementFirstUnstableOffset."""
        partition = new_partition()
        transact(partition, 0, count=2)
        transact(partition, 2, count=3)
        for start, stable in ((1, 0), (2, 2), (4, 2), (5, 5)):
            partition.delete_records(start)
            assert (partition.log_start_offset, partition.last_stable_offset) == (start, stable)
        assert end(partition, COMMIT).base_offset == 5
        assert partition.last_stable_offset == 6

    def test_after_an_abort(self, partition: Partition) -> None:
        """The marker takes offset 3; whoever reads up to it is told what to leave out, and no one else is."""
        answer = end(partition, ABORT)
        assert (answer.error, answer.base_offset, answer.last_offset) == (ErrorCode.NONE, 3, 3)
        assert (partition.high_watermark, partition.last_stable_offset) == (4, 4)
        for fetch_offset in (0, 1, 2, 3):
            assert aborted(partition, fetch_offset) == [(7, 1)]
        assert aborted(partition, 4) == []
        assert partition.read(0, 1000).aborted is None

    def test_after_a_commit(self, partition: Partition) -> None:
        """Nothing is to be left out."""
        end(partition, COMMIT)
        assert partition.last_stable_offset == 4
        assert aborted(partition, 0) == []
        assert offsets_of(read_all(partition, COMMITTED)) == [0, 1, 2, 3]

    def test_the_marker_says_how_it_ended(self, partition: Partition) -> None:
        """A control batch of one record, dated now, without a sequence number."""
        end(partition, ABORT, coordinator_epoch=4)
        kept = bytes(partition.read(3, 1000).records)
        header = read_header(kept)
        assert (header.is_control, header.is_transactional, header.base_sequence) == (True, True, -1)
        assert (header.base_offset, header.producer_id, header.max_timestamp) == (3, 7, NOW_MS + 50)
        assert read_marker(kept, header) == TransactionMarker(ABORT, 4)

    def test_the_producer_as_it_is_shown(self, partition: Partition) -> None:
        """DescribeProducers: its transaction's first offset while it is open, then the marker's time."""
        (entry,) = partition.producers
        assert (entry.last_sequence, entry.transaction_first_offset, entry.coordinator_epoch) == (1, 1, -1)
        end(partition, ABORT)
        assert (entry.last_sequence, entry.transaction_first_offset, entry.coordinator_epoch) == (1, None, 0)
        assert (entry.producer_epoch, entry.last_timestamp) == (0, NOW_MS + 50)

    def test_sequences_go_on_under_the_same_epoch(self, partition: Partition) -> None:
        """Version 1 keeps the epoch, so 0 again is a repeat, of an aborted batch even; 2 is next."""
        end(partition, ABORT)
        assert produce(partition, numbered(0, attributes=TRANSACTIONAL)).base_offset == 1
        assert transact(partition, 2).base_offset == 4

    def test_a_plain_batch_within_it(self, partition: Partition) -> None:
        """The producer may not mix."""
        assert produce(partition, numbered(2)).error == ErrorCode.INVALID_TXN_STATE
        assert partition.log_end_offset == 3


class TestAborted:
    """Which aborted transactions a fetch names."""

    def test_only_those_that_reach_into_what_was_read(self) -> None:
        """By first and last offset; a fetch that was cut short names those up to the next batch in the index."""
        partition = new_partition()
        for sequence in range(3):
            transact(partition, sequence)
            end(partition, ABORT)
            fill(partition, sized_batch(5000))
        assert aborted(partition, 0) == [(7, 0), (7, 3), (7, 6)]
        assert aborted(partition, 2) == [(7, 3), (7, 6)]
        assert aborted(partition, 0, bytes_max=1) == [(7, 0)]
        assert aborted(partition, 6, bytes_max=1) == [(7, 6)]

    def test_those_of_the_whole_segment_where_the_index_knows_nothing_more(self) -> None:
        """Below 4 KiB it has no entry, so a fetch that was cut short is told of all that come after it."""
        partition = new_partition()
        for sequence in range(3):
            transact(partition, sequence)
            end(partition, ABORT)
        assert aborted(partition, 0, bytes_max=1) == [(7, 0), (7, 2), (7, 4)]
        assert aborted(partition, 6) == []

    def test_of_transactions_that_overlap(self) -> None:
        """The one that was opened first and ended last is named, though its marker comes after what was read."""
        partition = new_partition()
        transact(partition, 0, producer_id=1)
        transact(partition, 0, producer_id=2)
        end(partition, ABORT, producer_id=2)
        assert partition.last_stable_offset == 0
        fill(partition, batch_of(1))
        end(partition, ABORT, producer_id=1)
        assert partition.last_stable_offset == 5
        assert sorted(aborted(partition, 0, bytes_max=1)) == [(1, 0), (2, 1)]
        assert sorted(aborted(partition, 1, bytes_max=1)) == [(1, 0), (2, 1)]
        assert sorted(aborted(partition, 3, bytes_max=1)) == [(1, 0)]

    def test_across_segments(self) -> None:
        """The marker may lie segments later than the records; segments that went take their entries along."""
        partition = new_partition({"internal.segment.bytes": "1000", "retention.bytes": "0"})
        transact(partition, 0)
        fill(partition, *[sized_batch(900)] * 3)
        end(partition, ABORT)
        assert aborted(partition, 0) == [(7, 0)]
        partition.apply_retention(NOW_MS)
        assert partition.log_start_offset == 5
        assert aborted(partition, 5) == []


class TestMarkers:
    """Which markers are refused."""

    @pytest.mark.parametrize(
        ("version", "epoch", "is_open", "error"),
        [
            (1, 4, True, ErrorCode.INVALID_PRODUCER_EPOCH),
            (1, 5, True, ErrorCode.NONE),
            (1, 6, True, ErrorCode.NONE),
            (1, 5, False, ErrorCode.NONE),
            (2, 4, True, ErrorCode.INVALID_PRODUCER_EPOCH),
            (2, 5, True, ErrorCode.INVALID_PRODUCER_EPOCH),
            (2, 5, False, ErrorCode.NONE),
            (2, 6, True, ErrorCode.NONE),
        ],
    )
    def test_by_epoch(self, version: int, epoch: int, is_open: bool, error: ErrorCode) -> None:
        """The producer's epoch is 5. From version 2 on a marker's is higher, unless it is written a second time."""
        partition = new_partition()
        transact(partition, 0, epoch=5)
        if not is_open:
            end(partition, COMMIT, epoch=5)
        assert end(partition, COMMIT, epoch=epoch, version=version).error == error
        assert (partition.last_stable_offset == 0) == (is_open and bool(error))

    def test_the_largest_epoch_can_always_be_ended(self) -> None:
        """There is none above it."""
        partition = new_partition()
        transact(partition, 0, epoch=32767)
        assert end(partition, ABORT, epoch=32767, version=2).error == ErrorCode.NONE

    def test_by_a_coordinator_that_was_replaced(self) -> None:
        """Its epoch is below the one last seen for this producer."""
        partition = new_partition()
        end(partition, COMMIT, coordinator_epoch=3)
        assert end(partition, COMMIT, coordinator_epoch=2).error == ErrorCode.TRANSACTION_COORDINATOR_FENCED
        assert end(partition, COMMIT, coordinator_epoch=3).error == ErrorCode.NONE

    def test_of_a_producer_that_is_not_known(self) -> None:
        """To Kafka its epochs so far are -1."""
        partition = new_partition()
        assert end(partition, COMMIT, epoch=-2).error == ErrorCode.INVALID_PRODUCER_EPOCH
        assert end(partition, COMMIT, coordinator_epoch=-2).error == ErrorCode.TRANSACTION_COORDINATOR_FENCED
        assert produce(partition, numbered(0, epoch=-2)).error == ErrorCode.INVALID_PRODUCER_EPOCH
        assert end(partition, COMMIT, coordinator_epoch=-1).error == ErrorCode.NONE

    def test_a_marker_for_nothing(self) -> None:
        """Is written all the same, and brings the producer's epoch along; nobody has to leave anything out."""
        partition = new_partition()
        assert end(partition, ABORT, epoch=3).base_offset == 0
        assert aborted(partition, 0) == []
        assert [entry.producer_epoch for entry in partition.producers] == [3]

    def test_a_higher_epoch_begins_anew(self) -> None:
        """Version 2: the sequence numbers start at 0 after each transaction."""
        partition = new_partition()
        transact(partition, 0, 3)
        end(partition, COMMIT, epoch=1, version=2)
        assert transact(partition, 3, epoch=1).error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert produce(partition, numbered(3, attributes=TRANSACTIONAL)).error == ErrorCode.INVALID_PRODUCER_EPOCH
        assert transact(partition, 0, epoch=1).error == ErrorCode.NONE


class TestVerification:
    """No transaction is opened here that the coordinator does not know of."""

    def test_an_answer_that_comes_too_late(self) -> None:
        """The asking began before the transaction was aborted: its consent opens nothing any more."""
        partition = new_partition()
        late = verify(partition, 0)
        end(partition, ABORT)
        refused = produce(partition, numbered(0, attributes=TRANSACTIONAL), verification=late)
        assert refused.error == ErrorCode.INVALID_TXN_STATE
        assert transact(partition, 0).error == ErrorCode.NONE

    def test_who_asks_for_the_next_transaction_is_not_held_up_by_the_marker(self) -> None:
        """A producer of version 2 goes on in the marker's epoch, and may be here before it."""
        partition = new_partition()
        transact(partition, 0)
        next_one = verify(partition, 0, epoch=1, version_2=True)
        assert not end(partition, COMMIT, epoch=1, version=2).error
        data = numbered(0, epoch=1, attributes=TRANSACTIONAL)
        assert produce(partition, data, verification=next_one).error == ErrorCode.NONE

    def test_consent_is_asked_for_once(self) -> None:
        """While the transaction is open its batches need no more of it; repeated asking gets the same object."""
        partition = new_partition()
        assert verify(partition, 0) is verify(partition, 0)
        transact(partition, 0)
        assert verify(partition, 1) is None
        assert produce(partition, numbered(1, attributes=TRANSACTIONAL)).error == ErrorCode.NONE

    def test_a_fenced_producer_is_told_so(self) -> None:
        """Rather than that its transaction is unknown."""
        partition = new_partition()
        transact(partition, 0, epoch=4)
        assert partition.producers.start_verification(7, 3, 1, False, NOW_MS) == ErrorCode.INVALID_PRODUCER_EPOCH
        outdated = numbered(1, epoch=3, attributes=TRANSACTIONAL)
        assert produce(partition, outdated).error == ErrorCode.INVALID_PRODUCER_EPOCH

    def test_no_batch_overtakes_the_first(self) -> None:
        """Two batches wait for consent; the second may not be appended before the first."""
        partition = new_partition()
        first, second = verify(partition, 0), verify(partition, 1)
        ahead = numbered(1, attributes=TRANSACTIONAL)
        assert produce(partition, ahead, verification=second).error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert produce(partition, numbered(0, attributes=TRANSACTIONAL), verification=first).base_offset == 0
        assert produce(partition, ahead, verification=second).base_offset == 1

    def test_a_lower_number_or_a_new_epoch_takes_over(self) -> None:
        """What may come first is the lowest number asked for, within the newest epoch."""
        partition = new_partition()
        verify(partition, 5)
        verify(partition, 3)
        newest = verify(partition, 9, epoch=1)
        assert newest is not None
        assert (newest.lowest_sequence, newest.producer_epoch) == (9, 1)
        verify(partition, 2)
        assert newest.lowest_sequence == 9

    def test_version_2_begins_at_0_where_the_producer_is_unknown(self) -> None:
        """An unknown producer of version 1 may begin anywhere."""
        for version_2, error in ((True, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), (False, ErrorCode.NONE)):
            partition = new_partition()
            verification = verify(partition, 5, version_2=version_2)
            answer = produce(partition, numbered(5, attributes=TRANSACTIONAL), verification=verification)
            assert answer.error == error

    def test_it_can_be_switched_off(self) -> None:
        """transaction.partition.verification.enable=false: batches are taken on trust."""
        partition = new_partition(settings=ProducerSettings(transaction_partition_verification_enable=False))
        assert produce(partition, numbered(0, attributes=TRANSACTIONAL)).error == ErrorCode.NONE
        assert partition.last_stable_offset == 0

    def test_who_never_comes_is_forgotten(self) -> None:
        """With the producers' expiry."""
        partition = new_partition(settings=ProducerSettings(producer_id_expiration_ms=1000))
        first = verify(partition, 0)
        partition.producers.remove_expired(NOW_MS + 999)
        assert verify(partition, 0) is first
        partition.producers.remove_expired(NOW_MS + 1000)
        assert verify(partition, 0) is not first


def test_offsets_committed_in_a_transaction() -> None:
    """The coordinator's own batches have a producer but no numbers: epochs and transactions are checked all the
    same."""
    partition = new_partition()
    data = numbered(-1, epoch=2, attributes=TRANSACTIONAL)
    assert partition.append_internal(data, NOW_MS).error == ErrorCode.INVALID_TXN_STATE
    verification = verify(partition, -1, epoch=2)
    for _ in range(2):
        assert partition.append_internal(data, NOW_MS, verification).error == ErrorCode.NONE
    assert partition.append_internal(numbered(-1, epoch=2), NOW_MS).error == ErrorCode.INVALID_TXN_STATE
    assert (partition.log_end_offset, partition.last_stable_offset) == (2, 0)
    end(partition, COMMIT, epoch=2)
    assert partition.last_stable_offset == 3


STEPS = st.tuples(st.integers(1, 3), st.sampled_from(["data", "data", "plain", "commit", "abort"]))


@given(st.lists(STEPS, max_size=30))
def test_committed_readers_see_what_was_committed_and_nothing_else(steps: list[tuple[int, str]]) -> None:
    """A client that does as it is told (stop at the last stable offset, leave out what was aborted) gets exactly the
    plain records and those of committed transactions, in order, up to the first open one."""
    partition = new_partition({"internal.segment.bytes": "300"})
    sequences = {1: 0, 2: 0, 3: 0}
    open_records: dict[int, list[int]] = {}
    decided: dict[int, bool] = {}
    for producer_id, action in steps:
        offset = partition.log_end_offset
        if action == "data":
            assert not transact(partition, sequences[producer_id], producer_id=producer_id).error
            sequences[producer_id] += 1
            open_records.setdefault(producer_id, []).append(offset)
        elif action == "plain":
            fill(partition, batch_of(1))
            decided[offset] = True
        else:
            assert not end(partition, action == "commit", producer_id).error
            for written in open_records.pop(producer_id, []):
                decided[written] = action == "commit"
    first_open = min((records[0] for records in open_records.values()), default=partition.log_end_offset)
    expected = [offset for offset in sorted(decided) if decided[offset] and offset < first_open]

    assert partition.last_stable_offset == first_open
    assert consumed(partition) == expected


def consumed(partition: Partition) -> list[int]:
    """The offsets a consumer of committed records hands to its application. Kafka: CompletedFetch.nextFetchedRecord."""
    offsets: list[int] = []
    offset = 0
    while (read := partition.read(offset, 200, COMMITTED)).records:
        starting = sorted((transaction.first_offset, transaction.producer_id) for transaction in read.aborted or ())
        aborting: set[int] = set()
        position = 0
        data = bytes(read.records)
        while position + 61 <= len(data):
            header = read_header(data, position)
            whole = data[position : position + header.size_bytes]
            if len(whole) < header.size_bytes:
                break
            while starting and starting[0][0] <= header.last_offset:
                aborting.add(starting.pop(0)[1])
            marker = read_marker(whole, header) if header.is_control else None
            if marker is not None and not marker.is_commit:
                aborting.discard(header.producer_id)
            if marker is None and not (header.is_transactional and header.producer_id in aborting):
                offsets += range(max(offset, header.base_offset), header.last_offset + 1)
            position += header.size_bytes
            offset = header.last_offset + 1
    return offsets
