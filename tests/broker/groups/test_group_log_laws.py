"""The group log as the broker keeps it: what is read back from it is what lives, cleaned or not, after any walk."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from random import Random

from hypothesis import settings
from hypothesis.stateful import rule

from ottla.broker.internal.loading import replay_log
from ottla.coordinator.classic.group import Group
from ottla.coordinator.config import GroupConfig
from ottla.coordinator.groups.shard import GroupShard
from ottla.coordinator.runtime.records import Record
from ottla.log.compaction.cleanable import look_at
from ottla.log.compaction.log_cleaner import KEYS_BYTES_MAX, clean
from ottla.log.partition import Partition
from ottla.protocol.record_building import build_batch
from ottla.protocol.record_reading import read_records
from ottla.protocol.records import read_header
from tests.coordinator.actors import classic
from tests.coordinator.classic.test_walks import Walk, committed, persisted
from tests.log.partitions import HOUR_MS, NOW_MS, new_partition


class CleanedWalk(Walk):
    """A walk whose log is written to a partition as it grows, in batches, rolled and cleaned at random moments."""

    def __init__(self) -> None:
        super().__init__()
        self.log = new_partition({"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0"})
        self.wall_ms = NOW_MS
        self.written = 0

    @rule()
    def clean(self) -> None:
        """What was written by now is closed and cleaned; some hours have passed."""
        self.write_down()
        if self.log.segments[-1].size_bytes:
            self.log._roll(self.wall_ms)
        self.wall_ms += 20 * HOUR_MS
        clean_all(self.log, self.wall_ms)

    def write_down(self) -> None:
        records = self.world.log[self.written :]
        random = Random(self.written)
        for batch in batches(records, random):
            assert not self.log.append_internal(build_batch(batch, timestamp_ms=self.wall_ms), self.wall_ms).error
        self.written += len(records)

    def teardown(self) -> None:
        self.clean()
        self.clean()
        self.clean()
        replayed = without_shell(read_back(self.log, self.world.now_ms))
        lives = without_shell(self.world.replayed(self.world.log))
        assert committed(replayed) == committed(lives)
        assert dict(persisted(replayed)) == dict(persisted(lives))
        alive = {key for key, value in dict(self.world.log).items() if value is not None}
        assert kept_keys(self.log) == alive, "a tombstone goes, and what it stands for"
        super().teardown()


def batches(records: list[Record], random: Random) -> Iterable[list[Record]]:
    """The records in runs of up to five."""
    rest = iter(records)
    while run := list(islice(rest, random.randint(1, 5))):
        yield run


def clean_all(log: Partition, wall_ms: int) -> None:
    log.cleaned_offset = 0  # so that what is past its horizon goes
    for _ in clean(look_at(log, wall_ms), wall_ms, KEYS_BYTES_MAX):
        pass


def read_back(log: Partition, now_ms: int) -> Group | None:
    shard = GroupShard(0, GroupConfig(), now_ms)
    for _ in replay_log(log, shard):
        pass
    return classic(shard.machines["group"]) if shard.machines else None


def without_shell(group: Group | None) -> Group | None:
    """The group, unless it was known by offsets alone, and those are gone: a cleaned log knows nothing of it."""
    is_shell = group is not None and group.protocol_type is None and not group.members and not committed(group)
    return None if is_shell else group


def kept_keys(log: Partition) -> set[bytes | None]:
    """Of the records that are still there."""
    return {
        record.key
        for segment in log.segments
        for data in segment.batches()
        for record in read_records(data, read_header(data))
    }


TestCleanedWalk = CleanedWalk.TestCase
TestCleanedWalk.settings = settings(stateful_step_count=60, max_examples=60)
