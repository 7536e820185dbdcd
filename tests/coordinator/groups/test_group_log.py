"""The group log: records as Kafka writes them, byte by byte, and groups as they come back from them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.coordinator.classic.group import Group
from ottla.coordinator.classic.member import Member
from ottla.coordinator.classic.members import add
from ottla.coordinator.classic.records import group_record, group_tombstone, new_group_record
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.config import GroupConfig
from ottla.coordinator.groups.shard import GroupShard
from ottla.coordinator.offsets.committed import CommittedOffset
from ottla.coordinator.offsets.records import offset_record, offset_tombstone
from ottla.coordinator.runtime.events import Loaded
from ottla.coordinator.runtime.records import CorruptRecordError, Record, is_writable
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.group_metadata_value import GroupMetadataValue
from ottla.protocol.messages.offset_commit_key import OffsetCommitKey
from ottla.protocol.messages.offset_commit_value import OffsetCommitValue
from ottla.protocol.primitives import ZERO_UUID, DecodeError
from ottla.testing.playbook import Is, Playbook
from tests.coordinator.actors import Actor, bring_in, classic, new_group, perform, protocols

CONFIG = GroupConfig()
GROUP_KEY = bytes.fromhex("0002 0001 67")
OFFSET_KEY = bytes.fromhex("0001 0001 67 0001 74 00000003")


def replayed(*records: Record, now_ms: int = 77) -> GroupShard:
    shard = GroupShard(0, CONFIG, now_ms)
    shard.replay_all(records)
    return shard


def stable_group() -> Group:
    group = Group("g", CONFIG, 1000, GroupState.STABLE, 1, "consumer", "range", "m")
    member = Member(
        "m", "i", "c", "/127.0.0.1", 45_000, 300_000, protocols("sticky", "range", metadata=b"\x01"), b"\x02"
    )
    add(group, member, "consumer")
    return group


# ── Bytes ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("committed", "value"),
    [
        (CommittedOffset(100, 5, "md", 1000), "0004 0000000000000064 00000005 03 6d64 00000000000003e8 00"),
        (
            CommittedOffset(100, 5, "md", 1000, topic_id=(1).to_bytes(8, "big") + (2).to_bytes(8, "big")),
            "0004 0000000000000064 00000005 03 6d64 00000000000003e8 01 00 10 0000000000000001 0000000000000002",
        ),
        (
            CommittedOffset(100, -1, "md", 1000, 2000),
            "0001 0000000000000064 0002 6d64 00000000000003e8 00000000000007d0",
        ),
    ],
    ids=["v4", "v4 with topic id", "v1 with expiry"],
)
def test_offset_records(committed: CommittedOffset, value: str) -> None:
    """The newest form, unless the offset has an expiry of its own, which only the oldest can say."""
    record = offset_record("g", "t", 3, committed)
    assert record == (OFFSET_KEY, bytes.fromhex(value))
    assert classic(replayed(record).machines["g"]).offsets.committed == {"t": {3: committed}}


@given(
    names=st.tuples(st.text(max_size=40), st.text(max_size=300)),
    partition=st.integers(0, 2**31 - 1),
    offset=st.integers(-(2**63), 2**63 - 1),
    leader_epoch=st.integers(-1, 2**31 - 1),
    metadata=st.text(max_size=200),
    timestamp_ms=st.integers(0, 2**63 - 1),
    topic_id=st.binary(min_size=16, max_size=16) | st.just(ZERO_UUID),
)
def test_an_offset_record_is_what_the_codec_writes(
    names: tuple[str, str],
    partition: int,
    offset: int,
    leader_epoch: int,
    metadata: str,
    timestamp_ms: int,
    topic_id: bytes,
) -> None:
    """It is put together by hand, to the same bytes as the generated codec's."""
    committed = CommittedOffset(offset, leader_epoch, metadata, timestamp_ms, topic_id=topic_id)
    value = OffsetCommitValue(offset, leader_epoch, metadata, timestamp_ms, topic_id=topic_id)
    assert offset_record(*names, partition, committed) == (
        b"\0\1" + OffsetCommitKey(*names, partition).encode(0),
        b"\0\4" + value.encode(4),
    )


@given(data=st.data(), names=st.tuples(st.text(max_size=5), st.text(max_size=5)), metadata=st.text(max_size=130))
def test_what_is_read_in_place_is_what_the_codec_reads(
    data: st.DataObject, names: tuple[str, str], metadata: str
) -> None:
    """Also of records that are damaged: the same values, or none."""
    committed = CommittedOffset(1, 2, metadata, 3, topic_id=data.draw(st.sampled_from([ZERO_UUID, b"i" * 16])))
    key, value = offset_record(*names, 5, committed)
    assert value is not None
    damaged = [bytearray(key[2:]), bytearray(value[2:])]
    for part in damaged:
        if part and data.draw(st.booleans()):
            part[data.draw(st.integers(0, len(part) - 1))] = data.draw(st.integers(0, 255))
        if data.draw(st.booleans()):
            del part[data.draw(st.integers(0, len(part))) :]
    key, value = b"\0\1" + damaged[0], b"\0\4" + damaged[1]
    expected: dict[str, dict[str, dict[int, CommittedOffset]]] | None
    try:
        place, read = OffsetCommitKey.decode(key, 0, 2), OffsetCommitValue.decode(value, 4, 2)
    except DecodeError:
        expected = None
    else:
        found = CommittedOffset(read.offset, read.leader_epoch, read.metadata, read.commit_timestamp, -1, read.topic_id)
        expected = {place.group: {place.topic: {place.partition: found}}}
    try:
        groups = replayed((key, value)).machines
    except CorruptRecordError:
        assert expected is None
    else:
        assert {group_id: group.offsets.committed for group_id, group in groups.items()} == expected


def test_tombstones() -> None:
    """The same keys, and nothing."""
    assert offset_tombstone("g", "t", 3) == (OFFSET_KEY, None)
    assert group_tombstone("g") == (GROUP_KEY, None)


def test_new_group_record() -> None:
    """No type, generation 0, nobody, and since when."""
    record = new_group_record(Group("g", CONFIG, 1000))
    assert record == (GROUP_KEY, bytes.fromhex("0003 0000 00000000 ffff ffff 00000000000003e8 00000000"))


def test_group_record() -> None:
    """Version 3: each member with its metadata of the chosen protocol only, and its assignment."""
    value = (
        "0003 0008 636f6e73756d6572 00000001 0005 72616e6765 0001 6d 00000000000003e8 00000001"
        "0001 6d 0001 69 0001 63 000a 2f3132372e302e302e31 000493e0 0000afc8 00000001 01 00000001 02"
    )
    assert group_record(stable_group()) == (GROUP_KEY, bytes.fromhex(value))


def test_group_record_with_other_assignments() -> None:
    """Those of the leader, before the members have them; whoever gets none gets nothing."""
    group = stable_group()
    assert group_record(group, {"m": b"new"})[1] != group_record(group)[1]
    (member,) = classic(replayed(group_record(group, {})).machines["g"]).members.values()
    assert member.assignment == b""


@pytest.mark.parametrize(
    ("text", "fits"),
    [("", True), ("a" * 10_922, True), ("a" * 32_767, True), ("a" * 32_768, False), ("é" * 16_384, False)],
)
def test_writable(text: str, fits: bool) -> None:
    """A string has at most as many bytes as an int16 can count."""
    assert is_writable(text) == fits


# ── Old forms ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("version", "value", "epoch", "expiry"),
    [
        (0, "0000000000000064 0002 6d64 00000000000003e8", -1, -1),
        (1, "0000000000000064 0002 6d64 00000000000003e8 00000000000007d0", -1, 2000),
        (2, "0000000000000064 0002 6d64 00000000000003e8", -1, -1),
        (3, "0000000000000064 00000005 0002 6d64 00000000000003e8", 5, -1),
        (4, "0000000000000064 00000005 03 6d64 00000000000003e8 00", 5, -1),
    ],
)
@pytest.mark.parametrize("key_type", [0, 1])
def test_every_version_of_an_offset_is_read(key_type: int, version: int, value: str, epoch: int, expiry: int) -> None:
    """Under the ancient key too."""
    key = key_type.to_bytes(2, "big") + OFFSET_KEY[2:]
    replay = replayed((key, version.to_bytes(2, "big") + bytes.fromhex(value)))
    assert replay.machines["g"].offsets.committed == {"t": {3: CommittedOffset(100, epoch, "md", 1000, expiry)}}


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_every_version_of_a_group_is_read(version: int) -> None:
    """What a version does not say: since when, the rebalance timeout (then the session's), the instance."""
    member = GroupMetadataValue.MemberMetadata("m", "i", "c", "/h", 300_000, 45_000, b"\x01", b"\x02")
    value = GroupMetadataValue("consumer", 4, "range", "m", 1000, [member]).encode(version)
    group = classic(replayed((GROUP_KEY, version.to_bytes(2, "big") + value)).machines["g"])
    (loaded,) = group.members.values()
    assert (group.state, group.generation_id, group.leader_id) == (GroupState.STABLE, 4, "m")
    assert group.state_timestamp_ms == (1000 if version >= 2 else None)
    assert loaded.rebalance_timeout_ms == (300_000 if version >= 1 else 45_000)
    assert loaded.group_instance_id == ("i" if version >= 3 else None)


# ── Groups come back ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_stable_group_comes_back_as_it_was(ana: Actor, bo: Actor) -> None:
    """Members by id and instance, their timeouts, assignments, the chosen protocol; who leads; what they read."""
    group = new_group()
    bo.group_instance_id = "bo's"
    ana.protocols = protocols("range", "sticky")
    bring_in(group, ana, bo)
    book = Playbook(group)
    assert book >> ana.syncs({ana: b"a", bo: b"b"}) << ana.synced(b"a")
    loaded = classic(replayed(*book.log).machines["group"])
    assert (loaded.state, loaded.generation_id, loaded.protocol_type, loaded.protocol_name, loaded.leader_id) == (
        GroupState.STABLE,
        1,
        "consumer",
        "range",
        ana.member_id,
    )
    assert loaded.static_members == {"bo's": bo.member_id}
    assert loaded.subscribed_topics == frozenset({"orders"})
    assert loaded.supported_protocols == {"range": 2}  # the others are not written
    assert [member.assignment for member in loaded.members.values()] == [b"a", b"b"]
    assert Playbook(loaded) >> Loaded() >> bo.syncs() << bo.synced(b"b") << Is(GroupState.STABLE)


def test_a_generation_nobody_synced_is_lost(ana: Actor) -> None:
    """After a crash in Completing members find themselves a generation ahead."""
    group = new_group()
    bring_in(group, ana)
    book = Playbook(group)
    assert book >> ana.syncs() << ana.synced(b"") >> ana.joins() << ana.joined(generation_id=2)
    loaded = classic(replayed(*book.log).machines["group"])
    assert (loaded.state, loaded.generation_id) == (GroupState.STABLE, 1)
    assert Playbook(loaded) >> Loaded() >> ana.beats() << ana.is_answered(ErrorCode.ILLEGAL_GENERATION)


def test_an_empty_group_remembers_since_when() -> None:
    """For the retention of its offsets. Without a type it is a simple group."""
    empty = Group("g", CONFIG, 1000, GroupState.EMPTY, 5, "consumer")
    loaded = classic(replayed(group_record(empty)).machines["g"])
    assert (loaded.state, loaded.generation_id, loaded.protocol_type) == (GroupState.EMPTY, 5, "consumer")
    assert (loaded.state_timestamp_ms, loaded.subscribed_topics) == (1000, frozenset())
    simple = classic(replayed(new_group_record(Group("g", CONFIG, 1000))).machines["g"])
    assert (simple.protocol_type, simple.subscribed_topics) == (None, None)


def test_the_last_record_counts() -> None:
    """A tombstone takes away; what comes after it is there again."""
    first, second = CommittedOffset(1, -1, "", 0), CommittedOffset(2, -1, "", 0)
    one, two = offset_record("g", "t", 3, first), offset_record("g", "t", 3, second)
    gone = offset_tombstone("g", "t", 3)
    assert classic(replayed(one, two).machines["g"]).offsets.committed == {"t": {3: second}}
    assert classic(replayed(one, gone).machines["g"]).offsets.committed == {}
    assert classic(replayed(one, gone, two).machines["g"]).offsets.committed == {"t": {3: second}}
    assert replayed(gone).machines == {}
    assert replayed(one, gone, group_tombstone("g")).machines == {}
    assert replayed(group_tombstone("g")).machines == {}


def test_a_group_record_keeps_the_offsets_before_it() -> None:
    """And the other way round, as the log has them."""
    offset = offset_record("g", "t", 3, CommittedOffset(1, -1, "", 0))
    for records in ((offset, group_record(stable_group())), (group_record(stable_group()), offset)):
        group = classic(replayed(*records).machines["g"])
        assert group.members.keys() == {"m"}
        assert group.offsets.committed.keys() == {"t"}


def test_a_consumer_group_with_a_broken_subscription_is_loaded() -> None:
    """Only what it reads is unknown."""
    group = stable_group()
    loaded = classic(replayed(group_record(group)).machines["g"])
    assert loaded.state is GroupState.STABLE
    assert loaded.subscribed_topics is None


def test_a_leader_nobody_knows_is_replaced() -> None:
    """Should a log say so."""
    group = stable_group()
    group.leader_id = "nobody"
    assert classic(replayed(group_record(group)).machines["g"]).leader_id == "m"


def test_other_kinds_of_records_are_passed_over() -> None:
    """And counted by their type."""
    replay = replayed((bytes.fromhex("0003 0001 67"), b"\x00\x00"), (bytes.fromhex("0010"), None))
    assert replay.machines == {}
    assert replay.unknown_types == {3: 1, 16: 1}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", b""),
        (b"\x00", None),
        (b"\x00\x02\x00\x05g", None),
        (GROUP_KEY, b""),
        (GROUP_KEY, b"\x00\x09"),
        (GROUP_KEY, b"\xff\xff"),
        (GROUP_KEY, b"\x00\x03\x00\x08cons"),
        (OFFSET_KEY, b"\x00\x05" + bytes(40)),
        (OFFSET_KEY, b"\x00\x04"),
    ],
    ids=str,
)
def test_a_corrupt_record_fails_the_load(key: bytes, value: bytes | None) -> None:
    """Nothing is guessed."""
    with pytest.raises(CorruptRecordError):
        replayed((key, value))


@st.composite
def damaged_records(draw: st.DrawFn) -> Record:
    """A good record with a byte changed, or cut off somewhere."""
    group = stable_group()
    add(group, Member("n", "j", "c", "/h", 1, 1, protocols("range", metadata=b"")), "consumer")
    key, value = draw(
        st.sampled_from(
            [
                group_record(group),
                offset_record("g", "t", 3, CommittedOffset(100, 5, "md", 1000, topic_id=b"1" * 16)),
                offset_record("g", "t", 3, CommittedOffset(100, 5, "md", 1000, 2000)),
            ]
        )
    )
    assert value is not None
    whole = bytearray(key + value)
    position = draw(st.integers(0, len(whole) - 1))
    if draw(st.booleans()):
        whole[position] = draw(st.integers(0, 255))
    else:
        del whole[max(position, len(key)) :]
    return bytes(whole[: len(key)]), bytes(whole[len(key) :])


@given(damaged_records())
def test_damaged_bytes_are_a_record_or_corrupt(record: Record) -> None:
    """No other error comes of them, and no group that is at odds with itself."""
    with suppress(CorruptRecordError):
        for group in replayed(record).machines.values():
            assert Playbook(group) >> Loaded()


def test_a_loaded_group_goes_on(ana: Actor, bo: Actor) -> None:
    """Members beat, commit and rebalance as if nothing had been."""
    group = new_group()
    bring_in(group, ana, bo)
    book = Playbook(group)
    assert book >> bo.syncs() >> ana.syncs() << ana.synced(b"") << bo.synced(b"")
    perform(group, 0, ana.commits({("orders", 0): 4})())
    loaded = classic(replayed(*book.log).machines["group"])
    loaded.config = replace(CONFIG)
    assert (
        Playbook(loaded)
        >> Loaded()
        >> ana.beats()
        << ana.is_answered(ErrorCode.NONE)
        >> ana.joins()
        << Is(GroupState.PREPARING_REBALANCE)
        >> bo.joins()
        << ana.joined(generation_id=2, leader=ana)
        << bo.joined(generation_id=2, leader=ana)
    )
