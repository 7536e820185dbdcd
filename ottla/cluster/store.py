"""The stored part of the cluster: its changes go to a file of the data directory, and are read back at the start.

    keep_…     before a change is made: writes it, or raises `Refused`, and then the change must not be made
    restore    at the start: makes everything again that is in the file

A topic is in the file before any of its logs is on disk, and out of it before they are removed, so the file alone
says what exists. Kafka's controller does the same with its metadata log.

Producer ids are given out in blocks, and only the end of a block is written: a restart skips the rest of it, and no id
is given out twice. Kafka: ProducerIdControlManager. Leader epochs rise by two with every restart: in Kafka a partition
loses its leader when the broker stops, and gets one when it is back. They are stored with the logs. The highest epoch
of all is stored here, for logs that have no directory yet.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from ottla.cluster.refused import Refused
from ottla.cluster.topic_names import GROUP_TOPIC, TRANSACTION_TOPIC
from ottla.cluster.uuids import uuid_of, uuid_text
from ottla.events.kind import Kind
from ottla.log.storage.contract import StorageError
from ottla.log.storage.files import describe
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records import read_header

if TYPE_CHECKING:
    from ottla.cluster.topic import Topic
    from ottla.events.stream import Stream
    from ottla.log.storage.cluster_file import Change
    from ottla.log.storage.data_dir import DataDir
    from ottla.log.storage.disk import DiskStorage
    from ottla.settings.settings import Settings

#: Kafka: ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE.
PRODUCER_IDS_BLOCK: Final = 1000
#: As measured with a Kafka of one node, after SIGTERM and SIGKILL alike. Kafka: ReplicationControlManager,
#: handleBrokerShutdown or handleBrokerUncleanShutdown, and handleBrokerUnfenced.
LEADER_EPOCHS_PER_RESTART: Final = 2


class EmptyCluster(Protocol):
    """What the store needs of a cluster to restore it."""

    #: How many partitions the group log has, and the log of transactions.
    group_partitions_count: int
    transaction_partitions_count: int

    @property
    def settings(self) -> Settings:
        """Its settings."""

    @property
    def topics(self) -> Mapping[str, Topic]:
        """Its topics by name."""

    @property
    def group_configs(self) -> MutableMapping[str, dict[str, str]]:
        """The configs of groups."""

    @property
    def client_metrics_configs(self) -> MutableMapping[str, dict[str, str]]:
        """The configs of metrics subscriptions."""

    def add_topic(
        self, name: str, assignment: Sequence[list[int]], configs: Mapping[str, str], topic_id: bytes
    ) -> Topic:
        """Add a topic that is stored already."""


class ClusterStore:
    """The cluster's part of a data directory."""

    def __init__(self, data_dir: DataDir, wall_ms: Callable[[], int], events: Stream) -> None:
        """`wall_ms`: the date."""
        self.data_dir = data_dir
        self._wall_ms = wall_ms
        self._events = events
        self._file = data_dir.cluster_file
        self._leader_epoch_max = 0
        #: The value before the start.
        self._leader_epoch_before = 0
        self._is_restoring = False
        self._producer_ids_end = 0

    # Keeping

    def keep_topic(self, name: str, topic_id: bytes, configs: Mapping[str, str], replicas: Sequence[list[int]]) -> None:
        """A topic is about to be made or changed; `replicas` are those of all its partitions."""
        self._keep(_topic_change(name, topic_id, configs, replicas))

    def forget_topic(self, topic: Topic) -> None:
        """It is about to be deleted."""
        self._keep({"deleted": topic.name, "id": uuid_text(topic.topic_id)})
        self.data_dir.forget(topic.name, len(topic.partitions))

    def keep_group_configs(self, group_id: str, configs: Mapping[str, str]) -> None:
        self._keep({"group": group_id, "configs": dict(configs)})

    def keep_client_metrics_configs(self, name: str, configs: Mapping[str, str]) -> None:
        self._keep({"client_metrics": name, "configs": dict(configs)})

    def keep_settings(self, layer: str, configs: Mapping[str, str]) -> None:
        """A layer of settings is about to say something else."""
        self._keep({"settings": layer, "configs": dict(configs)})

    def next_producer_ids(self) -> range:
        """A block of ids that were never given out."""
        start = self._producer_ids_end
        self._keep({"producer_ids_end": start + PRODUCER_IDS_BLOCK})
        self._producer_ids_end = start + PRODUCER_IDS_BLOCK
        return range(start, self._producer_ids_end)

    def note_leader_epoch(self, leader_epoch: int) -> None:
        """A log that has no directory is led under this epoch."""
        if leader_epoch > self._leader_epoch_max:
            self._leader_epoch_max = leader_epoch
            with suppress(Refused):  # an election can't be refused; the log says what is wrong
                self._keep({"leader_epoch_max": leader_epoch})

    def keep_virtual_date(self, wall_ms: int) -> None:
        """The clock is about to be moved to this date. It can't be refused; the log tells of a failure to store it."""
        try:
            self.data_dir.save_virtual_date(wall_ms)
        except OSError as error:
            self._events.tell(Kind.VIRTUAL_DATE_FAILED, path=self.data_dir.path, reason=describe(error))

    def _keep(self, change: Change) -> None:
        try:
            self._file.append(change)
        except OSError as error:
            reason = f"cannot write the cluster's journal: {describe(error)}"
            self._events.tell(Kind.CLUSTER_JOURNAL_FAILED, reason=reason)
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, reason) from None

    # The logs

    def open_log(self, topic: str, topic_id: bytes, index: int) -> tuple[DiskStorage, int]:
        """(the log of a partition, the leader epoch it is led under).

        After a restart it is higher than before, so clients check whether the records they have read still exist.
        """
        log = self.data_dir.open_log(topic, uuid_text(topic_id), index, self._wall_ms())
        log.note_leader_epoch = self.note_leader_epoch
        if not self._is_restoring:
            return log, 0
        state = log.load_state()
        if state and state.leader_epochs:
            epoch = state.leader_epochs[-1].epoch
        else:
            epoch = max(self._leader_epoch_before, _last_leader_epoch(log))
        return log, epoch + LEADER_EPOCHS_PER_RESTART

    def cleaned_offset(self, topic: str, index: int) -> int:
        return self.data_dir.cleaned_offset(topic, index)

    def save_cleaned_offset(self, topic: str, index: int, offset: int) -> None:
        self.data_dir.save_cleaned_offset(topic, index, offset)

    # Restoring

    def restore(self, cluster: EmptyCluster) -> Iterator[None]:
        """Make again what there was, a topic at a time. Raises OSError, `ClusterFileDamagedError`."""
        changes, bytes_cut = self._file.open(may_be_new=not self.data_dir.has_logs, was_clean=self.data_dir.was_clean)
        if bytes_cut:
            self._events.tell(Kind.CLUSTER_JOURNAL_CUT, bytes_cut=bytes_cut)
        latest = {_thing(change): change for change in changes}
        self._forget_deleted(latest.values(), changes)
        self._file.rewrite_if_worth_it(_alive(latest.values()))
        self._restore_the_rest(cluster, latest.values())
        self._is_restoring, self._leader_epoch_before = True, self._leader_epoch_max
        for change in latest.values():
            if "topic" in change:
                cluster.add_topic(change["topic"], change["replicas"], change["configs"], uuid_of(change["id"]))
                yield
        self._is_restoring = False
        if (group_topic := cluster.topics.get(GROUP_TOPIC)) is not None:
            cluster.group_partitions_count = len(group_topic.partitions)
        if (transaction_topic := cluster.topics.get(TRANSACTION_TOPIC)) is not None:
            cluster.transaction_partitions_count = len(transaction_topic.partitions)

    def _forget_deleted(self, latest: Collection[Change], changes: Sequence[Change]) -> None:
        known = {
            f"{change['topic']}-{index}/{change['id']}"
            for change in latest
            if "topic" in change
            for index in range(len(change["replicas"]))
        }
        self.data_dir.sort_out(known, {change["id"]: change["deleted"] for change in changes if "deleted" in change})

    def _restore_the_rest(self, cluster: EmptyCluster, latest: Collection[Change]) -> None:
        for change in latest:
            match change:
                case {"settings": layer, "configs": configs}:
                    cluster.settings.change(layer, configs)
                case {"group": name, "configs": configs} if configs:
                    cluster.group_configs[name] = dict(configs)
                case {"client_metrics": name, "configs": configs} if configs:
                    cluster.client_metrics_configs[name] = dict(configs)
                case {"producer_ids_end": end}:
                    self._producer_ids_end = end
                case {"leader_epoch_max": epoch}:
                    self._leader_epoch_max = epoch


def _last_leader_epoch(log: DiskStorage) -> int:
    """The leader epoch of the last batch, for a log whose file of epochs is lost; 0: there is none."""
    with suppress(StorageError):  # it is offline, and has no leader
        for segment in reversed(log.segments):
            if segment.size_bytes:
                position, _ = segment.find(segment.next_offset - 1)
                return max(0, read_header(next(segment.batches(position))).partition_leader_epoch)
    return 0


def _thing(change: Change) -> tuple[str, Any]:
    """The subject of a change."""
    kind = next(iter(change))
    if kind in ("topic", "deleted"):
        return "topic", change[kind]
    return kind, change[kind] if kind in ("settings", "group", "client_metrics") else None


def _alive(changes: Collection[Change]) -> Iterator[Change]:
    """The changes without those that later ones make void."""
    return (change for change in changes if "deleted" not in change)


def _topic_change(name: str, topic_id: bytes, configs: Mapping[str, str], replicas: Sequence[list[int]]) -> Change:
    return {"topic": name, "id": uuid_text(topic_id), "configs": dict(configs), "replicas": list(replicas)}
