"""Text that clients have chosen, made safe for a terminal.

Names, ids and reasons come from clients. Shown as they are, they could move the cursor, colour what follows, turn the
direction of writing, or begin a line that looks like one of ours. So each character that is not printable, which all
control characters are and what is invisible too, is shown as Python writes it in a string: `\\x1b`, `\\n`, `\\u202e`.
"""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with an escape in place of each character that a terminal might obey."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)
