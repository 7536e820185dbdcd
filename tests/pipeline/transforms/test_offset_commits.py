"""Records of __consumer_offsets become commits: known bytes, the coordinator's own writing, and any bytes at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.coordinator.offsets.committed import NO_EXPIRY, CommittedOffset
from ottla.coordinator.offsets.records import offset_record
from ottla.pipeline.transforms.offset_commits import newest_commits, offset_commits
from ottla.protocol.messages.offset_commit_value import OffsetCommitValue
from ottla.protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Group g, topic t, partition 3.
KEY = bytes.fromhex("000100016700017400000003")
GROUP_KEY = bytes.fromhex("0002000167")
#: Offset 100, leader epoch 5 from v3 on, metadata "md", timestamp 1000, expiry 2000 in v1.
VALUES = {
    "v0": "0000000000000000006400026d6400000000000003e8",
    "v1": "0001000000000000006400026d6400000000000003e800000000000007d0",
    "v2": "0002000000000000006400026d6400000000000003e8",
    "v3": "000300000000000000640000000500026d6400000000000003e8",
    "v4": "0004000000000000006400000005036d6400000000000003e800",
    "v4 with a topic id": "0004000000000000006400000005036d6400000000000003e801001000000000000000010000000000000002",
}

Record = tuple[bytes | None, bytes | None]


def frame(spark: SparkSession, records: Sequence[Record]) -> DataFrame:
    """The records of one partition, in order."""
    rows = [(key, value, 0, offset) for offset, (key, value) in enumerate(records)]
    return spark.createDataFrame(rows, "key binary, value binary, partition int, offset bigint")


def decoded(spark: SparkSession, records: Sequence[Record]) -> list[dict[str, Any]]:
    """What is made of them, in order."""
    return [row.asDict() for row in offset_commits(frame(spark, records)).orderBy("log_offset").collect()]


def newest(spark: SparkSession, records: Sequence[Record]) -> list[tuple[Any, ...]]:
    """What holds after them: group, topic, partition, offset."""
    found = newest_commits(offset_commits(frame(spark, records)))
    return sorted(tuple(row) for row in found.select("group", "topic", "partition", "committed_offset").collect())


def commit(offset: int, partition: int = 3) -> tuple[bytes, bytes]:
    """A commit of g in t, as Kafka 3 writes it."""
    value = b"\0\3" + OffsetCommitValue(offset, commit_timestamp=1).encode(3)
    return KEY[:-4] + partition.to_bytes(4, "big"), value


def test_every_version_of_a_value_is_read(spark: SparkSession) -> None:
    """Kafka writes v4 today, or v1 if a commit has an expiry of its own; older logs have the others."""
    found = decoded(spark, [(KEY, bytes.fromhex(value)) for value in VALUES.values()])
    common = {"group": "g", "topic": "t", "partition": 3, "committed_offset": 100, "metadata": "md"}
    common |= {"committed_ms": 1000, "is_tombstone": False, "is_readable": True}
    assert [common.items() <= row.items() for row in found] == [True] * len(VALUES)
    assert [row["leader_epoch"] for row in found] == [None, None, None, 5, 5, 5]
    assert [row["expires_ms"] for row in found] == [None, 2000, None, None, None, None]
    assert [row["topic_id"] for row in found] == [None] * 5 + [f"{1:016x}{2:016x}"]


def test_both_versions_of_a_key_are_read(spark: SparkSession) -> None:
    """0 is of brokers older than any that runs; it has the same fields."""
    records = [(b"\0\0" + commit(7)[0][2:], commit(7)[1]), commit(8, partition=0)]
    assert newest(spark, records) == [("g", "t", 0, 8), ("g", "t", 3, 7)]


def test_records_that_are_no_commits_are_left_out(spark: SparkSession) -> None:
    """Groups, other kinds of groups, and what has no key."""
    others: list[Record] = [(GROUP_KEY, b"\0\3"), (b"\0\5\0\1g", b""), (None, b"x"), (b"", b"x"), (b"\0", None)]
    assert decoded(spark, others) == []


def test_the_last_record_holds(spark: SparkSession) -> None:
    """Also if it is a smaller offset, when somebody went back; or a tombstone, which takes the commit away."""
    records: list[Record] = [commit(5), commit(9), commit(2)]
    records += [commit(5, partition=0), (commit(5, partition=0)[0], None)]
    records += [commit(5, partition=1), (commit(5, partition=1)[0], None), commit(1, partition=1)]
    assert newest(spark, records) == [("g", "t", 1, 1), ("g", "t", 3, 2)]


#: Each is a value of a partition's second commit.
UNREADABLE = {
    "a version of the future": "0005" + VALUES["v4"][4:],
    "a negative version": "ffff" + VALUES["v4"][4:],
    "cut off in v4": VALUES["v4"][:-4],
    "cut off in v0": VALUES["v0"][:-2],
    "metadata that are null": "0003000000000000006400000005ffff00000000000003e8",
    "metadata that are null, in v4": "00040000000000000064000000050000000000000003e800",
    "a varint without end": "0004000000000000006400000005ffffffffffffffff",
    "nothing": "",
}


def test_what_cannot_be_read_is_told_and_changes_nothing(spark: SparkSession) -> None:
    """The commit before it stays: as good as it gets, and a reader can count those."""
    records = [commit(5, partition) for partition in range(len(UNREADABLE))]
    records += [(commit(5, partition)[0], bytes.fromhex(value)) for partition, value in enumerate(UNREADABLE.values())]
    readable = [row["is_readable"] for row in decoded(spark, records)]
    assert dict(zip(UNREADABLE, readable[len(UNREADABLE) :], strict=True)) == dict.fromkeys(UNREADABLE, False)
    assert newest(spark, records) == [("g", "t", partition, 5) for partition in range(len(UNREADABLE))]


def test_a_key_that_ends_early_is_told(spark: SparkSession) -> None:
    """It says it is a commit, and there is no telling of what."""
    (row,) = decoded(spark, [(KEY[:-1], commit(5)[1])])
    assert (row["is_readable"], row["partition"]) == (False, None)
    assert newest(spark, [(KEY[:-1], commit(5)[1])]) == []


names = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
int64 = st.integers(-(2**63), 2**63 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)
offsets = st.builds(
    CommittedOffset,
    offset=int64,
    leader_epoch=int32,
    metadata=st.one_of(names, st.integers(100, 300).map("m".__mul__), st.just("é" * 9000)),
    commit_timestamp_ms=int64,
    expire_timestamp_ms=st.just(NO_EXPIRY) | st.integers(0, 2**63 - 1),
    topic_id=st.just(ZERO_UUID) | st.binary(min_size=16, max_size=16),
)
#: Spark takes longer for a query than Hypothesis for many rows of it, so there are few examples.
_DRAWN = settings.get_profile(settings.get_current_profile_name()).max_examples
few = settings(max_examples=max(2, _DRAWN // 50))


@few
@given(commits=st.lists(st.tuples(names, names, int32, offsets), min_size=50, max_size=150))
def test_what_the_coordinator_writes_is_read(
    spark: SparkSession, commits: list[tuple[str, str, int, CommittedOffset]]
) -> None:
    """Any group, topic, offset and metadata, in both forms that it writes."""
    rows = decoded(spark, [offset_record(*written) for written in commits])
    for row, (group, topic, partition, committed) in zip(rows, commits, strict=True):
        has_expiry = committed.expire_timestamp_ms != NO_EXPIRY
        assert row["is_readable"]
        assert (row["group"], row["topic"], row["partition"]) == (group, topic, partition)
        assert (row["committed_offset"], row["metadata"]) == (committed.offset, committed.metadata)
        assert row["committed_ms"] == committed.commit_timestamp_ms
        assert row["expires_ms"] == (committed.expire_timestamp_ms if has_expiry else None)
        assert row["leader_epoch"] == (None if has_expiry else committed.leader_epoch)
        knows_topic_id = not has_expiry and committed.topic_id != ZERO_UUID
        assert row["topic_id"] == (committed.topic_id.hex() if knows_topic_id else None)


@few
@given(values=st.lists(st.tuples(st.integers(0, 4), offsets), min_size=50, max_size=150))
def test_every_version_of_kafkas_schema_is_read(spark: SparkSession, values: list[tuple[int, CommittedOffset]]) -> None:
    """The codec that is generated from the schema writes; nobody else does v0, v2 and v3 here."""
    records: list[Record] = []
    for version, committed in values:
        value = OffsetCommitValue(committed.offset, metadata=committed.metadata, commit_timestamp=7)
        if version >= 3:
            value.leader_epoch = committed.leader_epoch
        records.append((KEY, version.to_bytes(2, "big") + value.encode(version)))
    rows = decoded(spark, records)
    for row, (version, committed) in zip(rows, values, strict=True):
        assert (row["committed_offset"], row["metadata"], row["committed_ms"]) == (
            committed.offset,
            committed.metadata,
            7,
        )
        assert row["leader_epoch"] == (committed.leader_epoch if version >= 3 else None)


mangled = st.tuples(
    st.just(KEY) | st.binary(max_size=20) | st.binary(max_size=20).map(b"\0\1".__add__),
    st.none()
    | st.binary(max_size=40)
    | st.tuples(st.integers(0, 4), st.binary(max_size=40)).map(lambda drawn: drawn[0].to_bytes(2, "big") + drawn[1]),
)


@few
@given(records=st.lists(mangled, min_size=50, max_size=150))
def test_no_bytes_break_it(spark: SparkSession, records: list[Record]) -> None:
    """Whatever stands in the topic, the job gets an answer; what can't be read has no offset that counts."""
    for row in decoded(spark, records):
        assert row["is_readable"] == (
            row["partition"] is not None and (row["is_tombstone"] or row["committed_ms"] is not None)
        )
    newest(spark, records)
