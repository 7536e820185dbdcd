"""What an answer says went wrong, wherever it says so."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ottla.protocol.primitives import Message


def error_codes(answer: object) -> Iterator[int]:
    """Every error code in an answer."""
    if isinstance(answer, list):
        yield from itertools.chain.from_iterable(map(error_codes, answer))
    elif isinstance(answer, Message):
        for name in answer.__slots__:
            value = getattr(answer, name)
            if name.endswith("error_code"):
                yield value
            else:
                yield from error_codes(value)
