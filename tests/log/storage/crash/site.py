"""A broker without sockets on a directory whose operations are recorded, and what can be asked of it.

Each thing that is asked for goes to the ledger when it is begun, and again when it is promised. The disk's worker does
its jobs when `random` wants it to, so that they come late, or never. There is a life after `kill`, and after `stop`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final

from ottla.cluster.store import ClusterStore
from ottla.cluster.topic import Topic
from ottla.log.compaction.cleanable import look_at
from ottla.log.compaction.log_cleaner import clean
from ottla.log.partition import Partition
from ottla.log.storage.data_dir import DataDir
from ottla.log.storage.file_operations import FileOperations
from ottla.log.storage.files import close_file
from ottla.log.storage.worker import Then, Work
from ottla.log.transaction_marker import TransactionMarker
from ottla.protocol.errors import ErrorCode
from tests.broker.scene import Scene
from tests.log.partitions import NOW_MS, produce
from tests.log.storage.crash.ledger import Ledger, LogId, Moment, Sent, TopicTale
from tests.log.storage.crash.recording import RecordingOperations
from tests.support.batches import KeyValue, batch

SETTINGS: Final = {"transaction.partition.verification.enable": "false", "log.cleaner.min.cleanable.ratio": "0.01"}
TRANSACTIONAL: Final = 0x10
#: When a segment is as long, the next is begun. A topic may not ask for so little.
SEGMENT_BYTES: Final = 1500
_KEYS_BYTES_MAX: Final = 1 << 20


class SlowWorker:
    """The disk's worker, which does its jobs when it is told to."""

    def __init__(self) -> None:
        self._jobs: list[tuple[Work, Then]] = []

    def do(self, work: Work, then: Then) -> None:
        self._jobs.append((work, then))

    def drain(self) -> None:
        self.do_some(1 << 30)

    def do_some(self, count: int) -> None:
        """Do so many of them, if there are."""
        while self._jobs and count:
            count -= 1
            work, then = self._jobs.pop(0)
            try:
                work()
            except OSError as error:
                then(error)
            else:
                then(None)


class Site:
    """One life after the other on the same directory."""

    def __init__(self, path: Path, operations: FileOperations, random: Random, ledger: Ledger | None = None) -> None:
        self.ledger = ledger or Ledger()
        self._path = path
        self._operations = operations
        self._random = random
        self.start()

    def start(self) -> None:
        """A process on the directory."""
        self.scene = Scene(nodes=3, settings=SETTINGS)
        self.cluster, self.log = self.scene.cluster, self.scene.log
        self._worker = SlowWorker()
        self._data_dir = DataDir(self._path, self.scene.events, self._worker, 100, self._operations)
        try:
            self._data_dir.open(self.cluster.cluster_id)
            store = ClusterStore(self._data_dir, self.cluster.wall_ms, self.scene.events)
            self.cluster.use_store(store)
            for _ in store.restore(self.cluster):
                pass
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """The process dies: the system closes its files."""
        for owner in self._data_dir.disk.files._open:
            close_file(owner)
        if self._data_dir.cluster_file._fd >= 0:
            os.close(self._data_dir.cluster_file._fd)
        self._data_dir.release()

    def stop(self) -> None:
        """The process ends as it should; all is promised then."""
        self._data_dir.flush()
        self.cluster.logs.close()
        self._data_dir.close()
        self.kill()
        now = self.now
        for topic in self.ledger.topics.values():
            topic.promised = now
            topic.kept.append((now, len(topic.configs)))
            topic.gone = now if topic.doomed is not None else None
            for log in topic.logs.values():
                log.flushed.append((now, log.end_begun(now)))

    @property
    def now(self) -> Moment:
        return len(self._operations.done) if isinstance(self._operations, RecordingOperations) else 0

    def turn(self) -> None:
        """The worker gets on with it, or doesn't."""
        self._worker.do_some(self._random.choice((0, 0, 1, 2, 100)))

    # Topics

    def topic(self, name: str) -> Topic:
        return self.cluster.topics[name]

    def create(self, name: str, partitions: int = 1, **configs: str) -> None:
        """Make a topic. Configs as keywords, underscores for dots."""
        begun = self.now
        texts = {key.replace("_", "."): value for key, value in configs.items()}
        topic = self.cluster.create_topic(name, [[1]] * partitions, texts)
        tale = TopicTale(name, is_compacted="compact" in configs.get("cleanup_policy", ""))
        tale.configs.append((begun, dict(topic.configs)))
        self.ledger.topics[topic.topic_id] = tale
        self.turn()

    def delete(self, name: str) -> None:
        """Delete one."""
        topic = self.topic(name)
        self.ledger.topics[topic.topic_id].doomed = self.now
        self.cluster.delete_topic(topic)
        self.turn()

    def configure(self, name: str, **configs: str) -> None:
        """Change its configs."""
        topic = self.topic(name)
        changed = {**topic.configs, **{key.replace("_", "."): value for key, value in configs.items()}}
        self.ledger.topics[topic.topic_id].configs.append((self.now, changed))
        topic.change_configs(changed)
        self.turn()

    def add_partitions(self, name: str, count: int) -> None:
        """Make it larger."""
        self.cluster.add_partitions(self.topic(name), [[1]] * count)
        self.turn()

    # Records

    def send(
        self, name: str, records: Sequence[KeyValue], index: int = 0, *, producer_id: int = -1, sequence: int = -1
    ) -> None:
        """Produce a batch, which must be taken. With a producer it is part of a transaction."""
        partition, log_id = self._partition(name, index)
        if partition._storage.segments[-1].size_bytes > SEGMENT_BYTES:
            partition._roll(NOW_MS)
        tale = self.ledger.log(log_id)
        tale.sent.append(Sent(self.now, partition.log_end_offset, tuple(records)))
        data = batch(
            records,
            producer_id=producer_id,
            producer_epoch=min(producer_id, 0),
            base_sequence=sequence,
            attributes=TRANSACTIONAL if producer_id >= 0 else 0,
        )
        answer = produce(partition, data)
        assert answer.error is ErrorCode.NONE, answer
        if partition.config.flush_messages == 1:
            tale.flushed.append((self.now, partition.log_end_offset))
        self.turn()

    def end_transaction(self, name: str, producer_id: int, index: int = 0, *, commit: bool) -> None:
        """Put its marker into the log."""
        partition, log_id = self._partition(name, index)
        tale = self.ledger.log(log_id)
        offset = partition.log_end_offset
        marker = TransactionMarker(commit, 0)
        tale.sent.append(Sent(self.now, offset, ((_marker_key(marker), b"\0" * 6),)))
        answer = partition.append_marker(marker, producer_id, 0, 1, NOW_MS)
        assert answer.error is ErrorCode.NONE, answer
        if partition.config.flush_messages == 1:
            tale.flushed.append((self.now, partition.log_end_offset))
        self.turn()

    def flush(self, name: str, index: int = 0) -> None:
        """Have a log on the device, as flush.ms does."""
        partition, log_id = self._partition(name, index)
        partition._storage.flush()
        self.ledger.log(log_id).flushed.append((self.now, partition.log_end_offset))
        self.turn()

    def roll(self, name: str, index: int = 0) -> None:
        """Begin a segment."""
        partition, _ = self._partition(name, index)
        if partition._storage.segments[-1].size_bytes:
            partition._roll(NOW_MS)
        self.turn()

    def checkpoint(self) -> None:
        """Note up to where the logs are on the device. What it says is promised."""
        self._data_dir.save_recovery_points_soon()
        self.turn()

    def clean(self, name: str, index: int = 0) -> None:
        """Compact a log, if its topic wants that."""
        partition, _ = self._partition(name, index)
        cleanable = look_at(partition, NOW_MS)
        if partition.config.compact and cleanable.is_due:
            for _ in clean(cleanable, NOW_MS, _KEYS_BYTES_MAX):
                self.turn()
            self.cluster.logs.note_cleaned(partition, cleanable.end_offset)
        self.turn()

    def delete_records(self, name: str, offset: int, index: int = 0) -> None:
        """Have a log begin later, and retention take what is before."""
        partition, log_id = self._partition(name, index)
        self.ledger.log(log_id).starts.append((self.now, offset))
        assert partition.delete_records(offset)[0] is ErrorCode.NONE
        self.turn()
        partition.apply_retention(NOW_MS)
        self.turn()

    def expire(self, name: str, index: int = 0) -> None:
        """Have all that is in a log too old."""
        partition, log_id = self._partition(name, index)
        self.ledger.log(log_id).starts.append((self.now, partition.log_end_offset))
        partition.apply_retention(NOW_MS + 365 * 86_400_000)
        self.turn()

    def _partition(self, name: str, index: int) -> tuple[Partition, LogId]:
        topic = self.topic(name)
        return topic.partitions[index], (topic.topic_id, index)


def _marker_key(marker: TransactionMarker) -> bytes:
    return b"\0\0" + int(marker.is_commit).to_bytes(2, "big")
