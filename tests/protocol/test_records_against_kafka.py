"""The same produced bytes before Kafka's own classes and before ours: the same answer, the same batch in the log.

Needs Java, and Maven for the jars; skipped without. Two differences are known and let pass: Kafka unpacks piece by
piece, so in bytes that are wrong twice it may meet the fault of a record before that of the codec; and it may run out
of memory where a record claims a gigabyte.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ottla.protocol.batch_error import BatchError, DecompressionError
from ottla.protocol.compression import CompressionType
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_reading import read_records
from ottla.protocol.record_validation import AppendRules, only_batch, prepare_append
from ottla.protocol.records import RECORD_BYTES_MAX, TimestampType, read_header
from tests.protocol.peers.kafka_records import Append, Appended, KafkaRecords, Refused, kafka_records
from tests.protocol.record_strategies import NOW_MS, doubtful_batches
from tests.protocol.test_compression import TEXT, TOLERANCES
from tests.protocol.test_records_scan import FAULTS, of
from tests.support.batches import batch, place
from tests.support.kafka_process import KafkaStartError, class_path, missing_tools


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaRecords]:
    """Kafka's judge, or a skip that says what it lacks."""
    reason = missing_tools()
    if reason is not None:
        pytest.skip(reason)
    try:
        class_path()
    except KafkaStartError as error:
        pytest.skip(str(error))
    with kafka_records() as judge:
        yield judge


append_rules = st.builds(
    AppendRules,
    max_decompressed_message_bytes=st.sampled_from([RECORD_BYTES_MAX] * 4 + [10, 40]),
    message_timestamp_type=st.sampled_from([TimestampType.CREATE_TIME] * 4 + [TimestampType.LOG_APPEND_TIME]),
    message_timestamp_before_max_ms=st.sampled_from([2**63 - 1] * 3 + [1_000, 10**9]),
    message_timestamp_after_max_ms=st.sampled_from([3_600_000] * 3 + [2**63 - 1, 0]),
    is_compacted=st.sampled_from([False] * 4 + [True]),
    compression=st.sampled_from([None] * 5 + list(CompressionType)),
)
appends = st.builds(
    Append,
    version=st.sampled_from([13, 9, 7, 3]),
    base_offset=st.sampled_from([0, 7, 2**40]),
    partition_leader_epoch=st.sampled_from([0, 3]),
    now_ms=st.just(NOW_MS),
)


def judged_here(records: bytes, rules: AppendRules, append: Append) -> Appended | Refused:
    try:
        header, only = only_batch(records, append.version)
        prepared = prepare_append(only, header, rules, now_ms=append.now_ms)
    except BatchError as refusal:
        return Refused(int(refusal.error), tuple(fault.batch_index for fault in refusal.faults))
    place(prepared.data, append.base_offset, append.partition_leader_epoch)
    return Appended(prepared.max_timestamp, append.base_offset + prepared.last_offset_delta, bytes(prepared.data))


def fails_to_unpack(records: bytes) -> bool:
    header, only = only_batch(records, 13)
    try:
        list(read_records(only, header))
    except DecompressionError:
        return True
    except BatchError:
        pass
    return False


def assert_same(records: bytes, rules: AppendRules, append: Append, theirs: Appended | Refused) -> None:
    ours = judged_here(records, rules, append)
    if ours == theirs:
        return
    if isinstance(ours, Appended) and isinstance(theirs, Appended):
        # Compressed by different libraries, so by what it holds.
        assert rules.compression not in {None, CompressionType.NONE}
        ours_header, their_header = read_header(ours.data), read_header(theirs.data)
        assert ours_header._replace(batch_length=0, crc=0) == their_header._replace(batch_length=0, crc=0)
        assert list(read_records(ours.data, ours_header)) == list(read_records(theirs.data, their_header))
        assert ours[:2] == theirs[:2]
    elif ours == Refused(ErrorCode.UNKNOWN_SERVER_ERROR) and fails_to_unpack(records):
        assert theirs == Refused(ErrorCode.INVALID_RECORD)
    else:
        out_of_memory = Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
        assert (ours, theirs) == (Refused(ErrorCode.INVALID_RECORD), out_of_memory), "differs from Kafka"
        assert rules.compression is not None, "only whole records are read into memory"


@example(records=batch(base_timestamp=NOW_MS), rules=AppendRules(), append=Append(now_ms=NOW_MS))
@given(records=doubtful_batches(), rules=append_rules, append=appends)
def test_produced_batches_are_judged_as_kafka_judges_them(
    kafka: KafkaRecords, records: bytes, rules: AppendRules, append: Append
) -> None:
    """Any damage, any topic configuration: the same refusal about the same records, or the same bytes in the log."""
    assert_same(records, rules, append, kafka.judge(records, rules, append))


@pytest.mark.parametrize("codec", CompressionType)
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_in_records_are_kafkas(kafka: KafkaRecords, fault: str, codec: CompressionType) -> None:
    """The table of faults in the scan's tests, asked of Kafka itself."""
    payload, count, *_ = FAULTS[fault]
    records = of(payload, count, codec)
    append = Append(now_ms=NOW_MS)
    assert judged_here(records, AppendRules(), append) == kafka.judge(records, AppendRules(), append)


@pytest.mark.parametrize("case", TOLERANCES)
def test_tolerances_of_the_codecs_are_kafkas(kafka: KafkaRecords, case: str) -> None:
    """The table of unusual containers in the codecs' tests: Kafka takes what is taken there, to the same bytes."""
    codec, packed, expected = TOLERANCES[case]
    count = max(1, len(expected or TEXT) // len(TEXT))
    records = batch(payload=packed, count=count, last_offset_delta=count - 1, attributes=codec)
    rules, append = AppendRules(compression=CompressionType.NONE), Append(now_ms=NOW_MS)
    theirs = kafka.judge(records, rules, append)
    assert judged_here(records, rules, append) == theirs
    assert isinstance(theirs, Appended) == bool(expected)
