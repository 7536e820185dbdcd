r"""Regular expressions that clients send, in RE2's syntax. All of a text has to match, as in Kafka.

    Pattern("payments-.*").matches("payments-7")      True

Kafka compiles them with RE2/J, Ottla with RE2 itself (google-re2). A match takes at most the size of the compiled
pattern × the length of the text. Neither a compilation nor a match can be interrupted, so both are bounded here; other
requests are served between two long matches.

RE2 and RE2/J differ in a few patterns. `_as_re2` refuses those that only RE2 accepts, and rewrites those that only
RE2/J accepts. The differences that remain are in docs/differences.md.
"""

from __future__ import annotations

import re
from typing import Final

from ottla.pacing import TooCostly, yield_turn

#: A pattern of this length compiles in at most 30 ms.
_PATTERN_BYTES_MAX: Final = 8192
#: A \p{…} is hundreds of ranges of characters: each takes 0.1 ms to compile.
_CATEGORIES_MAX: Final = 250
#: Compiled instructions × bytes of the text, for `\pL+-.*` on the longest id there can be. A match of this cost takes
#: 300 ms for a pattern made to that end, and a tenth of a millisecond for most.
_MATCH_COST_MAX: Final = 64_000_000
#: Before a match of this cost, other requests may get their turn.
_MATCH_COST_LONG: Final = 100_000

#: Escapes, within classes and outside. What is quoted has none.
_ESCAPES: Final = re.compile(
    r"\\Q.*?(?:\\E|\Z) | \\(?P<letter>[^\0-\x7f]) | (?P<category>\\[pP]) | (?P<any_byte>\\C) | \\.",
    re.DOTALL | re.VERBOSE,
)
_COUNT: Final = r"\{(?:0|[1-9]\d*)(?:,(?:0|[1-9]\d*)?)?\}"
#: What only RE2 accepts, outside classes: `{*`, where the brace is a character; a count that is no 32-bit integer.
_PARTS: Final = re.compile(
    rf"""\\Q.*?(?:\\E|\Z) | \\. | \[\^?\]?(?:\\.|\[:\^?\w+:\]|[^]\\])*\]
    | (?P<count>(?!{_COUNT})\{{(?=[*+?]|{_COUNT}) | (?={_COUNT})\{{[^}}]*\d{{5}})
    | \(\?P?<(?P<name>[^>]*)>""",
    re.DOTALL | re.VERBOSE,
)


class PatternError(ValueError):
    """RE2 can't read the pattern, or it is too large; the text says why."""


class Pattern:
    """A regular expression in RE2's syntax. Raises `PatternError`."""

    def __init__(self, text: str) -> None:
        import re2  # 10 ms that only the first pattern costs

        options = re2.Options()
        options.never_capture = True
        options.log_errors = False
        try:
            self._compiled = re2.compile(_as_re2(text), options)
        except re2.error as error:
            raise PatternError(error.args[0].decode(errors="replace")) from None
        finally:
            re2.purge()  # its cache would keep up to 128 patterns of 8 MiB

    def matches(self, text: str) -> bool:
        """Whether all of the text matches. Raises `TooCostly`."""
        encoded = text.encode()
        cost = self._compiled.programsize * len(encoded)
        if cost > _MATCH_COST_MAX:
            raise TooCostly(f"a pattern of {self._compiled.programsize} steps for a text of {len(encoded)} bytes")
        if cost > _MATCH_COST_LONG:
            yield_turn()
        return self._compiled.fullmatch(encoded) is not None


def _as_re2(text: str) -> str:
    """The pattern as RE2 has to be given it, so that it means what it means to RE2/J. Raises `PatternError`."""
    if len(text.encode()) > _PATTERN_BYTES_MAX:
        raise PatternError(f"it has more than {_PATTERN_BYTES_MAX} bytes")
    categories = 0

    def escape(found: re.Match[str]) -> str:
        nonlocal categories
        if found["any_byte"]:
            raise PatternError("\\C means nothing")
        categories += found["category"] is not None
        return found["letter"] or found[0]

    text = _ESCAPES.sub(escape, text)
    if categories > _CATEGORIES_MAX:
        raise PatternError(f"it has more than {_CATEGORIES_MAX} classes of the form \\p{{…}}")
    names: set[str] = set()
    for part in _PARTS.finditer(text):
        name = part["name"]
        if part["count"] or name in names or not (name or "").isascii():
            raise PatternError(f"{part[0]} is no repetition and no name of a group that can stand here")
        if name is not None:
            names.add(name)
    return text
