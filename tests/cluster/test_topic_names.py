"""Which names a topic may have."""

from __future__ import annotations

import pytest

from ottla.cluster.refused import Refused
from ottla.cluster.topic_names import check_name, name_fault, unified
from ottla.protocol.errors import ErrorCode


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "...", "_", "-", "x" * 249, "__consumer_offsets"])
def test_letters_digits_dots_underscores_and_dashes_are_fine(name: str) -> None:
    assert name_fault(name) is None
    check_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ä", "a/b", "a\n", "a,b", "x" * 250, "٣"])
def test_anything_else_is_no_name(name: str) -> None:
    """Digits of other scripts too."""
    with pytest.raises(Refused) as refused:
        check_name(name)
    assert refused.value.error_code is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert str(refused.value.message).startswith("Topic name is invalid: ")


def test_names_collide_that_differ_only_in_dots_and_underscores() -> None:
    """A name with neither can't collide."""
    assert unified("a.b_c") == unified("a_b.c") == unified("a_b_c")
    assert unified("a.b") != unified("a.c")
    assert unified("ab") is None
