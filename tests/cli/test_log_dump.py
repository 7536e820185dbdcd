"""`ottla log dump`: what is in the files of a log, line by line as Kafka's own tool says it, and never a traceback."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ottla.cli import main
from ottla.coordinator.classic.records import group_record, group_tombstone
from ottla.coordinator.offsets.committed import CommittedOffset
from ottla.coordinator.offsets.records import offset_record, offset_tombstone
from ottla.log.dump.batches import LogFile, Show, batch_lines
from ottla.log.dump.values import OFFSETS
from ottla.log.partition import Partition
from ottla.log.storage.disk import DiskStorage
from ottla.log.transaction_marker import TransactionMarker, build_marker
from ottla.protocol.compression import CompressionType
from ottla.protocol.messages.group_metadata_value import GroupMetadataValue
from ottla.protocol.messages.offset_commit_value import OffsetCommitValue
from ottla.protocol.messages.transaction_log_key import TransactionLogKey
from ottla.protocol.messages.transaction_log_value import TransactionLogValue
from ottla.protocol.record_building import build_batch, build_batch_of
from ottla.protocol.record_reading import Record
from ottla.protocol.records import read_header
from tests.cli.terminal import PROGRAM
from tests.coordinator.groups.test_group_log import GROUP_KEY, OFFSET_KEY, stable_group
from tests.log.partitions import fill, new_partition
from tests.log.storage.disks import new_log
from tests.support.batches import TIMESTAMP, batch, place
from tests.support.kafka_process import TOOL_JARS, missing_tools

NAME = "00000000000000000000.log"
Dump = Callable[..., list[str]]


@pytest.fixture
def dump(capsys: pytest.CaptureFixture[str]) -> Dump:
    """Runs the command and returns what it printed, but for the lines that name the files."""

    def run(*arguments: str | Path, exit_code: int = 0) -> list[str]:
        assert main(["log", "dump", *map(str, arguments)]) == exit_code
        printed = capsys.readouterr().out.splitlines()
        return [line for line in printed if not line.startswith(("Dumping", "Log starting"))]

    return run


def written(directory: Path, *batches: bytes, name: str = NAME, base_offset: int = 0) -> Path:
    """A segment of these batches, one after another."""
    directory.mkdir(exist_ok=True)
    offset, data = base_offset, b""
    for made in batches:
        placed = bytearray(made)
        place(placed, offset, 3)
        offset += read_header(placed).last_offset_delta + 1
        data += placed
    path = directory / name
    path.write_bytes(data)
    return path


def group_batches() -> Iterator[bytes]:
    """Everything there is in __consumer_offsets, in all its versions."""
    committed = CommittedOffset(100, 5, "md", TIMESTAMP)
    with_id = CommittedOffset(100, 5, "", TIMESTAMP, topic_id=bytes(range(16)))
    expiring = CommittedOffset(100, -1, "md", 1000, 2000)
    yield build_batch(
        [offset_record("g", "t", number, found) for number, found in enumerate((committed, with_id, expiring))],
        timestamp_ms=TIMESTAMP,
    )
    yield build_batch([group_record(stable_group())], timestamp_ms=TIMESTAMP)
    tombstones = [offset_tombstone("g", "t", 3), group_tombstone("g")]
    yield build_batch(tombstones, timestamp_ms=TIMESTAMP, compression=CompressionType.GZIP)
    for version in OffsetCommitValue.READERS:
        value = OffsetCommitValue(7, -1, "", 1, -1)
        yield build_batch([(OFFSET_KEY, version.to_bytes(2) + value.encode(version))], timestamp_ms=TIMESTAMP)
    for version in GroupMetadataValue.READERS:
        group = GroupMetadataValue("consumer", 1, None, None, 5)
        yield build_batch([(GROUP_KEY, version.to_bytes(2) + group.encode(version))], timestamp_ms=TIMESTAMP)
    yield build_batch([(b"\x00\x09\x00\x01g", b"\0\0xx")], timestamp_ms=TIMESTAMP)


def transaction_batches() -> Iterator[bytes]:
    key = b"\0\0" + TransactionLogKey("payments").encode(0)
    partitions = [TransactionLogValue.PartitionsSchema("orders", [0, 3])]
    for version in TransactionLogValue.READERS:
        value = TransactionLogValue(
            7, producer_epoch=2, transaction_timeout_ms=60_000, transaction_status=1, transaction_partitions=partitions
        )
        yield build_batch([(key, version.to_bytes(2) + value.encode(version))], timestamp_ms=TIMESTAMP)
    later = TransactionLogValue(7, 6, 8, 2, 3, client_transaction_version=2, transaction_partitions=None)
    yield build_batch([(key, b"\0\1" + later.encode(1)), (key, None)], timestamp_ms=TIMESTAMP)


def plain_batches() -> Iterator[bytes]:
    records = [
        Record(0, TIMESTAMP, b"key", b"value", (("h", b"1"), ("h2", None))),
        Record(1, TIMESTAMP + 5, None, None),
        Record(4, TIMESTAMP, "ключ".encode(), b""),
    ]
    yield build_batch_of(
        records, base_offset=0, producer_id=9, producer_epoch=1, base_sequence=2**31 - 2, is_transactional=True
    )
    for is_commit in (True, False):
        yield build_marker(TransactionMarker(is_commit, 7), 9, 1, TIMESTAMP)
    for codec in CompressionType:
        yield build_batch_of(records[:2], base_offset=0, log_append_time_ms=TIMESTAMP, compression=codec)


# ── What is shown ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_batches_are_shown_without_being_asked_for_more(tmp_path: Path, dump: Dump) -> None:
    """Their headers, where they are, and whether their checksums are right."""
    path = written(tmp_path, batch([(b"a", b"1"), (b"b", b"2")], attributes=1 << 6, base_timestamp=TIMESTAMP))
    assert dump(path) == [
        "baseOffset: 0 lastOffset: 1 count: 2 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 "
        "partitionLeaderEpoch: 3 isTransactional: false isControl: false "
        f"deleteHorizonMs: OptionalLong[{TIMESTAMP}] position: 0 CreateTime: {TIMESTAMP} size: 79 magic: 2 "
        f"compresscodec: none crc: {read_header(path.read_bytes()).crc} isvalid: true"
    ]


def test_records_are_shown_if_asked_for(tmp_path: Path, dump: Dump) -> None:
    """A line each; with key and value if those are asked for; nothing that would move a cursor."""
    path = written(tmp_path, batch([(b"a", b"1\x1b[2J"), (None, None), (b"\xff", b"")]))
    one = f"| offset: 0 CreateTime: {TIMESTAMP} keySize: 1 valueSize: 5 sequence: -1 headerKeys: []"
    assert dump(path, "--deep-iteration")[1] == one
    assert dump(path, "--print-data-log")[1] == f"{one} key: a payload: 1\\x1b[2J"
    assert [line.rpartition("[] ")[2] for line in dump(path, "--print-data-log")[1:]] == [
        "key: a payload: 1\\x1b[2J",
        f"| offset: 1 CreateTime: {TIMESTAMP} keySize: -1 valueSize: -1 sequence: -1 headerKeys: []",
        "key: \\xff payload: ",
    ]
    assert dump(path, "--skip-record-metadata")[1] == "| key: a payload: 1\\x1b[2J"


def test_group_records_are_decoded_by_the_name_of_their_directory(tmp_path: Path, dump: Dump) -> None:
    """Nobody has to know the option, which is there for files that were copied elsewhere."""
    offset = build_batch([offset_record("g", "t", 3, CommittedOffset(42, 1, "md", 7))], timestamp_ms=TIMESTAMP)
    there = written(tmp_path / "__consumer_offsets-12", offset)
    elsewhere = written(tmp_path / "copy", offset)
    decoded = (
        '| key: {"type":"1","data":{"group":"g","topic":"t","partition":3}} payload: {"version":"4","data":'
        '{"offset":42,"leaderEpoch":1,"metadata":"md","commitTimestamp":7}}'
    )
    assert dump(there, "--skip-record-metadata")[1] == decoded
    assert dump(elsewhere, "--skip-record-metadata", "--offsets-decoder")[1] == decoded
    assert dump(elsewhere, "--skip-record-metadata")[1] != decoded


def test_transaction_records_are_decoded(tmp_path: Path, dump: Dump) -> None:
    """By the directory or by the option."""
    path = written(tmp_path / "__transaction_state-0", *transaction_batches())
    lines = [line for line in dump(path, "--skip-record-metadata") if line.startswith("|")]
    assert lines[0].startswith('| key: {"type":"0","data":{"transactionalId":"payments"}} payload: {"version":"0"')
    assert lines[-1].endswith("payload: <DELETE>")


def test_a_directory_stands_for_its_files(tmp_path: Path, dump: Dump, capsys: pytest.CaptureFixture[str]) -> None:
    """All that are of a log, by name; and --files takes a list, as Kafka's tool does."""
    first, second = written(tmp_path, batch()), written(tmp_path, batch(), name="00000000000000000005.log")
    (tmp_path / "partition.metadata").touch()
    assert len(dump(tmp_path)) == len(dump("--files", f"{first},{second}")) == 2
    main(["log", "dump", str(tmp_path)])
    assert capsys.readouterr().out.splitlines()[:2] == [f"Dumping {first}", "Log starting offset: 0"]


def test_only_what_was_committed(tmp_path: Path, dump: Dump) -> None:
    """No aborted transaction, wherever its marker is, no marker, and nothing from the first open transaction on."""

    def sent(producer_id: int, value: bytes) -> bytes:
        return batch([(None, value)], attributes=0x10, producer_id=producer_id, producer_epoch=0, base_sequence=0)

    def ended(producer_id: int, *, is_commit: bool) -> bytes:
        return build_marker(TransactionMarker(is_commit, 0), producer_id, 0, TIMESTAMP)

    first = [sent(7, b"aborted"), sent(8, b"committed"), batch([(None, b"plain")]), ended(8, is_commit=True)]
    written(tmp_path, *first)
    second = [sent(7, b"aborted too"), ended(7, is_commit=False), sent(7, b"again"), ended(7, is_commit=True),
              sent(9, b"open"), batch([(None, b"after")])]  # fmt: skip
    later = written(tmp_path, *second, name="00000000000000000004.log", base_offset=4)

    def payloads(*arguments: str | Path) -> list[str]:
        return [line.partition("payload: ")[2] for line in dump(*arguments, "--print-data-log") if "payload" in line]

    assert payloads(tmp_path) == ["aborted", "committed", "plain", "aborted too", "again", "open", "after"]
    assert payloads(tmp_path, "--isolation", "read_committed") == ["committed", "plain", "again"]
    assert payloads(later, "--isolation", "read_committed") == ["again"]
    assert not [line for line in dump(tmp_path, "--isolation", "read_committed") if "isControl: true" in line]
    copied = written(tmp_path / "copy", first[0], first[2], ended(7, is_commit=False), name="some.log")
    assert payloads(copied, "--isolation", "read_committed") == ["plain"]
    written(tmp_path / "copy", *first, name="some.log")
    assert payloads(copied, "--isolation", "read_committed") == []


def test_only_so_many_bytes(tmp_path: Path, dump: Dump) -> None:
    """--max-bytes: the batch that begins before them is the last."""
    path = written(tmp_path, batch(), batch(), batch())
    size = len(batch())
    assert [len(dump(path, "--max-bytes", str(limit))) for limit in (0, 1, size, size + 1)] == [0, 1, 1, 2]


# ── What is damaged ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_torn_tail_is_told_with_its_place(tmp_path: Path, dump: Dump) -> None:
    """What came before it is shown."""
    path = written(tmp_path, batch(), batch())
    size = len(batch())
    path.write_bytes(path.read_bytes()[:-5])
    assert dump(path, exit_code=1)[1:] == [
        f"Found {size - 5} invalid bytes at the end of {path}: at position {size}, it claims {size} bytes, and the "
        f"file has {size - 5} more"
    ]
    path.write_bytes(path.read_bytes()[: size + 5])
    assert dump(path, exit_code=1)[1].startswith(f"Found 5 invalid bytes at the end of {path}: at position {size}, 5")


@pytest.mark.parametrize(
    ("damaged", "complaint"),
    [
        (batch(crc_added=1), "isvalid: false"),
        (batch(magic=1), "its magic is 1, and only 2 is understood"),
        (batch(length_added=-60), "fewer than its header has"),
        (batch(payload=b"\xff" * 20), "the records of the batch at position 0 can't be read"),
        (batch(attributes=7), "the records of the batch at position 0 can't be read"),
        (batch([(b"k", b"v")], attributes=0x20), "the records of the batch at position 0 can't be read"),
    ],
)
def test_a_damaged_batch_is_told_of(tmp_path: Path, dump: Dump, damaged: bytes, complaint: str) -> None:
    """In a line that says what is wrong; what can be known after it is shown."""
    path = tmp_path / NAME
    path.write_bytes(damaged + batch(base_offset=1))
    lines = dump(path, "--print-data-log", exit_code=1)
    assert any(complaint in line for line in lines)


def test_offsets_that_go_back_are_told_of(tmp_path: Path, dump: Dump) -> None:
    """No reader would find them."""
    path = tmp_path / NAME
    path.write_bytes(batch(base_offset=5) + batch(base_offset=5))
    assert dump(path, exit_code=1)[2] == f"damaged: offsets go back from 6 to 5 at position {len(batch())}"


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ((b"\0", b""), "its key has 1 bytes, too few for its type"),
        ((None, b""), "it has no key"),
        ((OFFSET_KEY, b""), "its value has 0 bytes, too few for its type"),
        ((OFFSET_KEY, b"\0\x63"), "OffsetCommitValue v99 is unknown"),
        ((OFFSET_KEY, b"\0\x04abc"), "its OffsetCommitValue v4 can't be read"),
    ],
)
def test_a_record_that_is_none_of_its_topic_is_told_of(
    tmp_path: Path, dump: Dump, record: tuple[bytes | None, bytes], complaint: str
) -> None:
    """And the next one is shown."""
    path = written(tmp_path, build_batch([record, offset_tombstone("g", "t", 3)], timestamp_ms=TIMESTAMP))
    _, damaged, fine = dump(path, "--offsets-decoder", exit_code=1)
    assert complaint in damaged
    assert fine.endswith("payload: <DELETE>")


def test_what_is_no_file_of_a_log_is_told_of(tmp_path: Path, dump: Dump, capsys: pytest.CaptureFixture[str]) -> None:
    """And what is not there."""
    (tmp_path / "meta.properties").touch()
    assert dump(tmp_path / "meta.properties", exit_code=1) == [
        "damaged: a file that ends in .properties is none of a log"
    ]
    assert main(["log", "dump", str(tmp_path / "1.log")]) == 1
    assert capsys.readouterr() == ("", f"ottla: cannot read {tmp_path}/1.log: No such file or directory\n")
    assert main(["log", "dump", str(tmp_path / "orders-0")]) == 1
    assert capsys.readouterr().err == f"ottla: cannot read {tmp_path}/orders-0: No such file or directory\n"
    (tmp_path / "data" / "orders-0").mkdir(parents=True)
    assert main(["log", "dump", str(tmp_path / "data")]) == 1
    assert capsys.readouterr().err == (
        f"ottla: {tmp_path}/data has no files of a log; name the directory of a partition\n"
    )
    assert main(["log", "dump"]) == 2
    assert "no files are named" in capsys.readouterr().err


def test_reader_that_has_seen_enough_is_told_nothing(tmp_path: Path) -> None:
    """As `| head` is one: the file can be read, it is the pipe that is closed."""
    path = written(tmp_path, build_batch([(b"k", b"v" * 100_000)], timestamp_ms=TIMESTAMP))
    dump = subprocess.Popen(
        [PROGRAM, "log", "dump", "--print-data-log", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert dump.stdout is not None
    dump.stdout.close()
    assert dump.stderr is not None
    assert dump.stderr.read() == b""
    dump.stderr.close()
    assert dump.wait() == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_bytes_make_it_fail(tmp_path: Path, data: st.DataObject) -> None:
    """Whatever is overwritten in a log, everything is shown or said to be damaged."""
    whole = b"".join((*group_batches(), *plain_batches()))
    damaged = bytearray(whole)
    for at in data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=8)):
        damaged[at] = data.draw(st.integers(0, 255))
    path = tmp_path / NAME
    path.write_bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    with path.open("rb") as file:
        for line in batch_lines(LogFile(file), NAME, Show(records=True, data=True, types=OFFSETS)):
            assert "\n" not in line.text


# ── The files beside it ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def log(tmp_path: Path) -> DiskStorage:
    """A log on disk with entries in every file beside it; closed."""
    storage = new_log(tmp_path / "orders-0")
    partition: Partition = new_partition(storage=storage)
    partition.producers._settings.transaction_partition_verification_enable = False
    for number in range(40):
        fill(partition, batch([(b"k", b"v" * 1000)], base_timestamp=TIMESTAMP + number))
    fill(partition, batch(producer_id=7, producer_epoch=0, base_sequence=0, attributes=1 << 4))
    partition.append_marker(TransactionMarker(is_commit=False, coordinator_epoch=0), 7, 0, 1, TIMESTAMP)
    partition._roll(TIMESTAMP)
    fill(partition, batch())
    partition.close()
    return storage


def test_indexes_are_held_against_the_log(log: DiskStorage, dump: Dump) -> None:
    """They are shown, or only checked; one that does not fit is told of."""
    directory = Path(log.directory)
    index, times = directory / f"{NAME[:-4]}.index", directory / f"{NAME[:-4]}.timeindex"
    shown = dump(index)
    assert len(shown) >= 5
    assert all(line.startswith("offset: ") for line in shown)
    assert all(line.startswith("timestamp: ") for line in dump(times))
    assert dump(index, times, "--verify-index-only") == []
    entries = bytearray(index.read_bytes())
    entries[3] += 1
    index.write_bytes(entries + b"\0")
    times.write_bytes(bytes([*times.read_bytes()[:7], 0, *times.read_bytes()[8:]]))
    complaints = dump(index, times, "--index-sanity-check", exit_code=1)
    assert complaints[0] == f"damaged: {index} ends in the middle of an entry"
    assert complaints[1] == f"Mismatches in :{index}"
    assert complaints[2].startswith("  Index offset: ")
    assert complaints[3] == f"Found timestamp mismatch in :{times}"


def test_transaction_index_and_snapshot_are_shown(log: DiskStorage, dump: Dump) -> None:
    """One line for each aborted transaction, and for each producer."""
    directory = Path(log.directory)
    assert dump(directory / f"{NAME[:-4]}.txnindex") == [
        "version: 0 producerId: 7 firstOffset: 40 lastOffset: 41 lastStableOffset: 42"
    ]
    snapshot = max(directory.glob("*.snapshot"))
    assert dump(snapshot)[0].startswith("producerId: 7 producerEpoch: 0 coordinatorEpoch: 0 currentTxnFirstOffset: Opt")
    for path in (snapshot, directory / f"{NAME[:-4]}.txnindex"):
        path.write_bytes(path.read_bytes() + b"\1")
        assert dump(path, exit_code=1)[0].startswith(f"damaged: {path} is no ")


# ── Kafka's own tool ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(missing_tools(TOOL_JARS) is not None, reason=str(missing_tools(TOOL_JARS)))
def test_kafkas_own_tool_says_the_same(tmp_path: Path, log: DiskStorage, capsys: pytest.CaptureFixture[str]) -> None:
    """Line by line: of plain logs, of the internal topics in every version, and of the files beside our own logs."""
    plain = written(tmp_path / "orders-1", *plain_batches())
    groups = written(tmp_path / "groups", *group_batches())
    transactions = written(tmp_path / "transactions", *transaction_batches())
    beside = ",".join(f"{log.directory}/{NAME[:-4]}.{suffix}" for suffix in ("index", "timeindex", "txnindex"))
    runs = [
        (str(plain),),
        (str(plain), "--deep-iteration"),
        (str(plain), "--print-data-log"),
        (str(groups), "--offsets-decoder"),
        (str(groups), "--offsets-decoder", "--skip-record-metadata"),
        (str(transactions), "--transaction-log-decoder"),
        (f"{log.directory}/{NAME}", "--print-data-log"),
        (beside,),
    ]
    java = ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", TOOL_JARS.class_path()]
    for files, *options in runs:
        command = [*java, "org.apache.kafka.tools.DumpLogSegments", "--files", files, *options]
        theirs = subprocess.run(command, capture_output=True, text=True, check=True)
        capsys.readouterr()
        assert main(["log", "dump", "--files", files, *options]) == 0
        assert capsys.readouterr().out.splitlines() == theirs.stdout.splitlines(), (files, options)
