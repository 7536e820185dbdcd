"""Regular expressions in the syntax of RE2, for patterns that clients send: the time a match takes is bounded.

    Pattern("payments-.*").matches("payments-7")     the whole text has to fit, as Kafka has it

    characters.py   sets of characters: classes, categories, upper and lower case
    parsing.py      a pattern's text, into instructions
    program.py      the instructions, and what is made of them: one after the other, one of several, many times
    matching.py     a text, character by character, against all places in the program where it may be

Python's own `re` tries one way after the other, and some patterns have more ways than there is time. Nothing is tried
here: what a step costs is bounded by the program's size, and what a program may be by `INSTRUCTIONS_MAX`.

What a pattern means and which are refused is as in RE2/J, which Kafka uses; what differs stands in
docs/differences.md. The algorithm: Ken Thompson, "Regular Expression Search Algorithm" (1968), and Russ Cox,
https://swtch.com/~rsc/regexp/.
"""

from __future__ import annotations

from ottla.re2.matching import Pattern
from ottla.re2.program import PatternError

__all__ = ["Pattern", "PatternError"]
