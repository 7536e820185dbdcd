"""Whether a broker that was started on what a machine found keeps what was promised before."""

from __future__ import annotations

from ottla.cluster.topic import Topic
from ottla.log.partition import Partition
from ottla.log.producer_state import ProducerSettings, ProducerStates
from ottla.log.replay import recover
from ottla.log.storage.contract import LogStorage
from ottla.log.storage.log_bytes import LogBytes
from ottla.log.storage.memory import MemoryStorage
from ottla.log.storage.segment import AbortedTransaction
from ottla.protocol.records import checksum_matches, read_header
from tests.log.partitions import read_all
from tests.log.storage.crash.ledger import Ledger, LogId, LogTale, Moment, TopicTale
from tests.log.storage.crash.power_loss import FileSystem
from tests.log.storage.crash.site import Site


def check(site: Site, ledger: Ledger, moment: Moment, file_system: FileSystem) -> dict[LogId, tuple[int, int]]:
    """Look at everything; returns where each log begins and ends."""
    offline = site.log.named("log.offline")
    assert not offline, offline
    logs: dict[LogId, tuple[int, int]] = {}
    for topic_id, topic in site.cluster.topics_by_id.items():
        tale = ledger.topics[topic_id]
        assert tale.gone is None or tale.gone > moment, f"{topic.name} was deleted, and is there"
        _check_topic(topic, tale, moment)
        for index, partition in enumerate(topic.partitions):
            logs[topic_id, index] = _check_log(partition, tale, moment, file_system)
    for topic_id in ledger.topics_that_must_be_there(moment):
        assert topic_id in site.cluster.topics_by_id, f"{ledger.topics[topic_id].name} is not there"
    for log_id, end in ledger.must_be_there(moment):
        name = ledger.topics[log_id[0]].name
        assert log_id in logs, f"{name}-{log_id[1]} is not there; it was promised up to {end}"
        assert logs[log_id][1] >= end, f"{name}-{log_id[1]} ends at {logs[log_id][1]}; it was promised up to {end}"
    return logs


def _check_topic(topic: Topic, tale: TopicTale, moment: Moment) -> None:
    possible = tale.configs_possible(moment)
    assert topic.configs in possible, f"{topic.name} has configs {topic.configs}, not one of {possible}"


def _check_log(partition: Partition, topic: TopicTale, moment: Moment, file_system: FileSystem) -> tuple[int, int]:
    end = partition.log_end_offset
    tale = topic.logs.get(partition.index, LogTale())
    assert end <= tale.end_begun(moment)
    start, start_asked = partition.log_start_offset, tale.start_asked(moment)
    if file_system is FileSystem.ORDERED or tale.end_promised(moment):  # else the name of its first file may be lost
        assert start <= start_asked, f"it begins at {start}, and was to begin at {start_asked} at the most"
    found = {record.offset: (record.key, record.value) for record in read_all(partition)}
    sent = {offset: record for offset, record in tale.records().items() if start <= offset < end}
    if topic.is_compacted:
        assert dict(found[at] for at in sorted(found)) == dict(sent[at] for at in sorted(sent))
        assert found.items() <= sent.items()
    else:
        assert found == sent
    _check_batches(partition)
    if start == 0 and not topic.is_compacted:
        _check_producers(partition)
    return start, end


def _check_batches(partition: Partition) -> None:
    next_offset = 0
    for segment in partition._storage.segments:
        assert segment.base_offset >= next_offset
        for batch in segment.batches():
            header = read_header(batch)
            assert header.base_offset >= next_offset
            assert checksum_matches(batch, header)
            next_offset = header.last_offset + 1


def _check_producers(partition: Partition) -> None:
    """What is known of producers and aborted transactions is what all the batches tell."""
    memory = MemoryStorage(LogBytes(1 << 30), 0)
    for segment in partition._storage.segments:
        if segment.base_offset > memory.segments[-1].base_offset:
            memory.roll(segment.base_offset, 0)
        for batch in segment.batches():
            header = read_header(batch)
            memory.append(batch, header.last_offset, header.max_timestamp, 0)
    told = recover(memory, ProducerSettings())
    assert _producers(partition.producers) == _producers(told.producers)
    assert _aborted(partition._storage) == _aborted(memory)


def _producers(producers: ProducerStates) -> set[tuple[int, int, int, int | None]]:
    return {(one.producer_id, one.producer_epoch, one.last_sequence, one.transaction_first_offset) for one in producers}


def _aborted(storage: LogStorage) -> list[AbortedTransaction]:
    return [one for segment in storage.segments for one in segment.aborted]
