"""Java's hashes, checked against what a Java virtual machine said."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.coordinator.java_hash import hash_map_order, partition_for, string_hash


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("range", 108280125),
        ("polygenelubricants", -(2**31)),
        ("AaAaAaAa", -540425984),
        ("AaAaAaAa" * 100, -1701223424),
    ],
)
def test_a_string_has_javas_hash(text: str, value: int) -> None:
    """31 times what there was plus the next UTF-16 unit, in a signed int32."""
    assert string_hash(text) == value


@given(st.text(min_size=1, max_size=70), st.sampled_from([1, 5, 6, 7, 64, 468]))
def test_a_long_text_has_the_same_hash_as_letter_by_letter(text: str, times: int) -> None:
    """It is computed in another way."""
    value = 0
    long_text = text * times
    units = long_text.encode("utf-16-be")
    for high, low in zip(units[0::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    assert string_hash(long_text) & 0xFFFFFFFF == value


@pytest.mark.parametrize(
    ("group_id", "partition"),
    [
        ("", 0),
        ("group", 47),
        ("my-group", 12),
        ("test-group", 12),
        ("foo", 24),
        ("connect-cluster", 13),
        ("polygenelubricants", 0),
        ("groupe-é", 2),
        ("grp-😀", 13),
    ],
)
def test_a_group_is_kept_in_kafkas_partition(group_id: str, partition: int) -> None:
    """Also where the hash is the lowest int32, which has no absolute value, and beyond the basic plane."""
    assert partition_for(group_id, 50) == partition


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("range", "roundrobin"),
        ("sticky", "range"),
        ("range", "cooperative-sticky"),
        ("sticky", "roundrobin"),
        ("roundrobin", "cooperative-sticky"),
        ("sticky", "cooperative-sticky"),
    ],
)
def test_usual_protocols_come_in_javas_order(first: str, second: str) -> None:
    """Whichever was put in first."""
    assert hash_map_order([first, second]) == hash_map_order([second, first]) == [first, second]


def test_pairs_are_all_there() -> None:
    """The pairs above are all pairs of the four usual protocols."""
    assert len(list(combinations(["range", "roundrobin", "sticky", "cooperative-sticky"], 2))) == 6


def test_thirteenth_entry_makes_the_table_grow() -> None:
    """16 slots hold 12; with 32 the slots, and so the order, are others. Both orders are Java's."""
    names = [f"p{number}" for number in range(1, 14)]
    assert hash_map_order(names[:12]) == ["p12", "p1", "p11", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10"]
    assert hash_map_order(names) == ["p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p12", "p11", "p13"]


def test_equal_hashes_keep_the_order_they_came_in() -> None:
    """Aa, BB and C# have one hash, so they are in one slot."""
    assert len({string_hash(text) for text in ("Aa", "BB", "C#")}) == 1
    assert hash_map_order(["BB", "Aa", "C#"]) == ["BB", "Aa", "C#"]
    assert hash_map_order(["C#", "Aa", "BB"]) == ["C#", "Aa", "BB"]


def test_a_slot_with_nine_entries_makes_a_small_table_grow() -> None:
    """Java makes a tree of such a slot, but in a small table it makes room first, as "x" and "h" show."""
    same = ["AaAaAaAa", "BBBBBBBB", "AaAaAaBB", "AaAaBBAa", "AaAaBBBB", "AaBBAaAa", "AaBBAaBB", "AaBBBBAa", "BBAaAaAa"]
    assert len({string_hash(text) for text in same}) == 1
    assert hash_map_order(["x", "h", *same[:8]]) == ["x", "h", *same[:8]]
    assert hash_map_order(["x", "h", *same]) == ["h", *same, "x"]
