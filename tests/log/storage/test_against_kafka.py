"""Kafka's own tool reads our files, and we read those that a Kafka has written."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from ottla.log.partition import Partition
from ottla.log.producer_state import ProducerSettings
from ottla.log.storage.disk import DiskStorage
from ottla.log.storage.sparse_index import SparseIndex
from ottla.log.transaction_marker import TransactionMarker
from ottla.protocol.records import read_header
from tests.cli.stage import create, produce
from tests.log.partitions import NOW_MS, batch_of, fill, new_partition, numbered, sized_batch
from tests.log.storage.disks import after_crash, new_log
from tests.support.client import Client
from tests.support.kafka_process import (
    TOOL_JARS,
    KafkaStartError,
    class_path,
    format_storage,
    missing_tools,
    running,
    wait_until_serving,
)

#: Nobody is asked whether a partition belongs to a transaction.
TRUSTING: Final = ProducerSettings(transaction_partition_verification_enable=False)
DUMP: Final = "org.apache.kafka.tools.DumpLogSegments"


@pytest.fixture(scope="module", autouse=True)
def kafka_is_here() -> None:
    """Or a skip that says what is missing."""
    reason = missing_tools() or missing_tools(TOOL_JARS)
    if reason is None:
        try:
            class_path()
            TOOL_JARS.class_path()
        except KafkaStartError as error:
            reason = str(error)
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture
def log(tmp_path: Path) -> DiskStorage:
    """Several segments: plain batches, numbered ones, a transaction that was aborted."""
    log = new_log(tmp_path / "orders-0")
    partition = new_partition({"internal.segment.bytes": "40000"}, storage=log, settings=TRUSTING)
    write_a_bit_of_everything(partition)
    partition.close()
    assert len(log.segments) > 2
    return log


def write_a_bit_of_everything(partition: Partition) -> None:
    for number in range(40):
        fill(partition, sized_batch(2000, 5, base_timestamp=NOW_MS + number), numbered(number, producer_id=7))
    fill(partition, numbered(0, producer_id=8, attributes=0x10))
    partition.append_marker(TransactionMarker(False, 0), 8, 0, 1, NOW_MS)
    fill(partition, batch_of(3))


def test_kafka_reads_our_files(log: DiskStorage) -> None:
    """Every batch with its checksum, both indexes without a mismatch, the producers, the aborted transaction."""
    names = sorted(Path(log.directory).glob("0*"))
    java = ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", TOOL_JARS.class_path(), DUMP]
    done = subprocess.run(
        [*java, "--deep-iteration", "--index-sanity-check", "--files", ",".join(map(str, names))],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    sane = done.stdout
    assert sane.count("passed sanity check.") == 2 * len(log.segments)
    logs = [str(name) for name in names if name.suffix not in (".snapshot", ".txnindex")]
    done = subprocess.run(
        [*java, "--deep-iteration", "--files", ",".join(logs)], capture_output=True, text=True, check=True
    )
    assert "Mismatches" not in done.stdout
    assert "Found timestamp mismatch" not in done.stdout
    offsets = [int(found) for found in re.findall(r"^\| offset: (\d+)", done.stdout, re.MULTILINE)]
    assert sorted(set(offsets)) == list(range(log.end_offset))
    assert "producerId: 7 producerEpoch: 0" in sane
    assert re.search(r"producerId: 8 firstOffset: 240 lastOffset: 241", sane), sane[-2000:]


def test_we_read_kafkas_files(tmp_path: Path) -> None:
    """A log that Kafka has written opens as one of ours, and both indexes are believed."""
    properties, bootstrap = format_storage(tmp_path, {"log.segment.bytes": "1048576"})
    with running(properties, bootstrap) as kafka:
        wait_until_serving(kafka)
        with Client(bootstrap) as client:
            create(client, "orders", 1)
            for _ in range(50):
                produce(client, "orders", 0, 300)
    theirs = tmp_path / "logs" / "orders-0"
    shutil.copytree(theirs, tmp_path / "ours")
    for suffix in ("index", "timeindex"):
        assert (tmp_path / "ours" / f"{0:020d}.{suffix}").exists()

    source = new_log(tmp_path / "ours")
    source.is_made = True
    log = after_crash(source)

    assert log.end_offset == 15_000
    (segment,) = log.segments
    headers = [read_header(batch) for batch in segment.batches()]
    assert [header.base_offset for header in headers] == list(range(0, 15_000, 300))
    index = SparseIndex.load(segment.path, segment.size_bytes, 15_000, is_trusted=False)
    assert index is not None
    assert all(segment.find(offset)[1] for offset in range(0, 15_000, 77))
    state = log.load_state()
    assert state is not None
    assert state.leader_epochs[0].start_offset == 0
