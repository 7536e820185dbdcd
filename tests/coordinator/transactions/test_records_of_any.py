"""Records of transactional ids put together by hand, of any content, against the codec made from Kafka's schemas."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ottla.coordinator.transactions.records import read_transaction, read_transactional_id, transaction_record
from ottla.coordinator.transactions.states import TransactionState
from ottla.coordinator.transactions.transaction import Transaction
from ottla.protocol.messages.transaction_log_key import TransactionLogKey
from ottla.protocol.messages.transaction_log_value import TransactionLogValue


def signed(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


TRANSACTIONS = st.builds(
    Transaction,
    transactional_id=st.text(max_size=300),
    producer_id=signed(64),
    timeout_ms=signed(32),
    last_update_ms=signed(64),
    state=st.sampled_from(TransactionState),
    producer_epoch=signed(16),
    last_producer_epoch=st.just(-1),
    prev_producer_id=st.just(-1) | signed(64),
    next_producer_id=st.just(-1) | signed(64),
    start_ms=signed(64),
    client_version=st.just(0) | signed(16),
    partitions=st.frozensets(st.tuples(st.sampled_from(["a", "é", "x" * 200]) | st.text(max_size=20), signed(32))),
)


@given(TRANSACTIONS, st.sampled_from([0, 1, 2]))
def test_they_are_what_the_codec_makes(kept: Transaction, transaction_version: int) -> None:
    """Byte for byte, in the format of the level; and they come back, but for what the older format has no place for."""
    key, value = transaction_record(kept, transaction_version)
    value_version = 1 if transaction_version else 0
    assert key == b"\0\0" + TransactionLogKey(kept.transactional_id).encode(0)
    assert value is not None
    said = TransactionLogValue.decode(value, value_version, 2)
    assert value == bytes([0, value_version]) + said.encode(value_version)
    if kept.state is TransactionState.EMPTY:
        assert said.transaction_partitions is None
        kept = replace(kept, partitions=frozenset())
    if not transaction_version:
        kept = replace(kept, prev_producer_id=-1, next_producer_id=-1, client_version=0)
    assert read_transaction(read_transactional_id(key), value) == kept
