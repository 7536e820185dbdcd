"""From batches to what a partition knows: its producers, its open and aborted transactions, its leader epochs.

`note_batch` does that for one batch that has its place in the log; a partition calls it after each append, and
`recover` for every batch of a log that is opened again. So a partition after a restart is what it was before.

Kafka: UnifiedLog.rebuildProducerState, LogSegment.recover, LogLoader.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from ottla.log.leader_epochs import LeaderEpochs
from ottla.log.producer_entry import NumberedBatch
from ottla.log.producer_state import ProducerSettings, ProducerStates
from ottla.log.storage.contract import LogStorage, StorageError
from ottla.log.storage.segment import Segment
from ottla.log.transaction_marker import TransactionMarker, read_marker
from ottla.protocol.records import BatchHeader, read_header


@dataclass(slots=True)
class RecoveredLog:
    """A log as its storage tells it."""

    log_start_offset: int
    log_end_offset: int
    leader_epochs: LeaderEpochs
    producers: ProducerStates


def note_batch(
    producers: ProducerStates,
    segment: Segment,
    header: BatchHeader,
    base_offset: int,
    max_timestamp: int,
    marker: TransactionMarker | None,
) -> None:
    """Remember the producer of a batch that stands in `segment` at `base_offset`. `marker`: what a control batch says.

    The header's own offset and timestamp may be those it was sent with.
    """
    producer_id, producer_epoch = header.producer_id, header.producer_epoch
    if marker is not None:
        ended = producers.add_marker(producer_id, producer_epoch, marker.coordinator_epoch, base_offset, max_timestamp)
        if ended is not None and not marker.is_commit:
            segment.aborted.append(ended)
    elif not header.is_control:
        last_offset = base_offset + header.last_offset_delta
        batch = NumberedBatch(header.base_sequence, header.last_sequence, base_offset, last_offset, max_timestamp)
        producers.add_batch(producer_id, producer_epoch, batch, header.is_transactional)


def recover(storage: LogStorage, producer_settings: ProducerSettings) -> RecoveredLog:
    """Read what `storage` holds; of one that is offline as much as it tells. Raises `BatchError` if a control batch
    can't be read."""
    state = storage.load_state()
    log_start_offset = max(storage.segments[0].base_offset, state.log_start_offset if state else 0)
    if log_start_offset > storage.segments[-1].next_offset:
        # The end of the log was lost, down to what had been removed on purpose: nothing of it is left.
        storage.roll(log_start_offset, storage.segments[-1].modified_ms)
        storage.remove_oldest(len(storage.segments) - 1)
    log_end_offset = storage.segments[-1].next_offset
    leader_epochs = LeaderEpochs(state.leader_epochs if state else ())
    leader_epochs.cut_end(log_end_offset)
    producers = ProducerStates(producer_settings)
    replay_offset, entries = storage.load_producers() or (log_start_offset, ())
    producers.restore(entries)
    for segment in storage.segments:
        segment.aborted = [aborted for aborted in segment.aborted if aborted.last_offset < replay_offset]
        with suppress(StorageError):  # it is offline now, and answers nothing
            _replay(segment, replay_offset, producers, leader_epochs)
    leader_epochs.cut_start(log_start_offset)
    return RecoveredLog(log_start_offset, log_end_offset, leader_epochs, producers)


def _replay(segment: Segment, from_offset: int, producers: ProducerStates, leader_epochs: LeaderEpochs) -> None:
    if from_offset >= segment.next_offset:
        return
    for batch in segment.batches(segment.find(from_offset)[0]):
        header = read_header(batch)
        if header.partition_leader_epoch > leader_epochs.latest:
            leader_epochs.assign(header.partition_leader_epoch, header.base_offset)
        if header.producer_id >= 0:
            marker = read_marker(batch, header) if header.is_control else None
            note_batch(producers, segment, header, header.base_offset, header.max_timestamp, marker)
