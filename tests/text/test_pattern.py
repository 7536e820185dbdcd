"""Patterns of RE2: what matches, what is refused, and that no pattern takes more than its time."""

from __future__ import annotations

import random
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.pacing import TooCostly
from ottla.text import pattern as module
from ottla.text.pattern import Pattern, PatternError
from tests.support.kafka_process import class_path, missing_tools

#: Patterns, with texts that fit and texts that don't.
FITS: Final = [
    ("payments-.*", ["payments-7", "payments-"], ["payments", "old-payments-7", "payments-\n"]),
    ("", [""], ["a"]),
    ("a|bc|", ["a", "bc", ""], ["b", "abc"]),
    ("(ab){2,3}", ["abab", "ababab"], ["ab", "abababab"]),
    ("(?:a*)*b+?c{0}d{2}", ["aabdd", "bdd"], ["aadd", "bd"]),
    (r"\d+\.\D\s\S\w\W", ["12.a bc!"], ["12a bc!"]),
    ("[^a-c\\]]", ["d", "\n"], ["a", "]", ""]),
    ("[]a-]+", ["]a-"], ["b"]),
    ("[[:alpha:]_[:^ascii:]]+", ["aZ_é"], ["a1"]),
    (r"\p{Lu}\pL*[\P{N}]\p{^Nd}", ["Éa!x"], ["éa!x", "Éa1x"]),
    (r"\Q.*\E.\x41\x{1F600}\101\n", [".*zA😀A\n"], ["..zA😀A\n"]),
    ("(?i)Straße[k-l]", ["STRAẞEK", "straßel"], ["STRASSEK"]),
    (r"(?i)[^I]k\p{Greek}", ["ıK\N{GREEK SMALL LETTER SIGMA}"], ["ikA"]),
    (r"\é[\ä-\ü]\Q\é\E", ["éö\\é"], ["éöé", "\\éö\\é"]),
    (r"[{*]\{*{,2}*", ["*{{{{,2}}}"], ["*{"]),
    ("(?i:a)b(?i)c", ["Abc", "abC"], ["aBc"]),
    ("a.b", ["axb"], ["a\nb"]),
    ("(?s)a.b", ["a\nb"], ["ab"]),
    (r"^\Aa\z$", ["a"], ["b"]),
    ("a^b|a\\Bb", ["ab"], ["a b"]),
    ("(?m)a$\n^b", ["a\nb"], ["ab"]),
    (r"\bfoo\b \bbar", ["foo bar"], ["foobar", "foo  bar"]),
    ("(?P<name>a)(?<other>b)(?U-s:c)", ["abc"], ["ab"]),
    ("a{,2}{", ["a{,2}{"], ["aa"]),
    (r"[^\x00-\x{10FFFF}]|\P{Any}|x", ["x"], ["", "a"]),
]
REFUSED: Final = [
    "(", ")", "a)", "(a", "[", "[a", "[]", "[^]", "*", "a|*", "(*)", "(?i)*", "a**", "a+*", "a??+", "a{2}{3}",
    "a{1001}", "a{2,1}", "a{999999999999}", "{*", "(?", "(?-)", "(?i-)", "(?x)", "(?=a)", "(?!a)", "(?<!a)", "(?<a",
    "(?<a b>c)", "(?<a>b)(?<a>c)", "\\", "\\C", "\\Z", "\\q", "\\1", "\\8", "\\xZ", "\\x{}", "\\x{110000}", "\\p",
    "\\p{", "\\p{}", "\\pX", "\\p^L", "[b-a]", "[a-\\d]", "[[:foo:]]", "[\\Qa]", "[\\b]", "(?P=a)",
    "{+", "{{2}", "a{100000}", "(?<é>a)",
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "fitting", "others"), FITS, ids=[pattern for pattern, *_ in FITS])
def test_all_of_the_text_has_to_fit(pattern: str, fitting: list[str], others: list[str]) -> None:
    """As RE2/J has it."""
    held = Pattern(pattern)
    assert [held.matches(text) for text in fitting] == [True] * len(fitting)
    assert [held.matches(text) for text in others] == [False] * len(others)


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    """With a sentence that says why."""
    with pytest.raises(PatternError, match=r"\w+ "):
        Pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["k" * 8193, r"\pL" * 251, "(.{1000})" * 500, "(a{20}){60}"],
    ids=["long", "many categories", "large", "many repetitions"],
)
def test_a_pattern_that_takes_long_to_compile_is_refused(pattern: str) -> None:
    """A compilation can't be interrupted."""
    with pytest.raises(PatternError):
        Pattern(pattern)


def test_a_match_that_takes_long_is_refused() -> None:
    """A match can't be interrupted, and takes at most the size of the pattern × the length of the text."""
    costly = Pattern("(a|b)*a(a|b){900}" * 3 + "c")
    assert not costly.matches("ab" * 5_000)
    with pytest.raises(TooCostly, match=r"a pattern of 27[0-9]+ steps for a text of 30000 bytes"):
        costly.matches("ab" * 15_000)


def test_others_have_their_turn_before_a_long_match(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short match is not worth a turn."""
    turns: list[None] = []
    monkeypatch.setattr(module, "yield_turn", lambda: turns.append(None))
    pattern = Pattern("(a|b)*a(a|b){900}c")
    pattern.matches("ab")
    assert len(turns) == 0
    pattern.matches("ab" * 1000)
    assert len(turns) == 1


def test_a_refused_pattern_is_no_line_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    """RE2 logs what it refuses unless it is told not to."""
    with pytest.raises(PatternError, match=r"missing \): \("):
        Pattern("(")
    assert capfd.readouterr().err == ""


@settings(max_examples=300)
@given(st.text("ab(|)*+?[]^-{}1,\\dpLQE.$i:<>P😀", max_size=30), st.text("ab1-\n😀", max_size=10))
def test_any_text_is_a_pattern_or_is_refused(pattern: str, text: str) -> None:
    """It never fails in another way."""
    with suppress(PatternError):
        assert Pattern(pattern).matches(text) in (True, False)


# ── RE2/J itself ──────────────────────────────────────────────────────────────────────────────────────────────────────


def missing() -> str | None:
    """Why RE2/J can't be asked here, in one line, or None."""
    if shutil.which("javac") is None:
        return "RE2/J is asked by a program that is run from its source, which needs a JDK; no `javac` is on the PATH"
    return missing_tools()


#: What patterns are made of: of everything a little, classes, repetitions, letters with unusual cases.
PIECES: Final = [
    [*"abAB1-_é😀\n .|()*+?^$[]{}\\,:<>", "a{2}", "{0,2}", "{1,}", "{,2}", "(?i)", "(?i:", "(?m)", "(?s-i)", "(?:",
     "()", "[a-b]", "[^a]", "[[:alpha:]]", "[[:^digit:]-]", "\\d", "\\W", "[\\s\\w]", "\\b", "\\B", "\\A", "\\z",
     "\\pL", "\\P{Lu}", "[\\p{^Nd}]", "\\Qa*\\E", "\\Q", "\\x41", "\\x{e9}", "\\101", "\\n", "\\.", "*?", "(a|b)",
     "(?P<x>"],
    ["[", "[", "]", "]", "(?i)[", *"ab-^:\\", "a-b", "\\d", "\\W", "[:alpha:]", "[:^word:]", "\\pL", "\\P{Ll}",
     "\\p{Lt}", "\\p{^Nd}", "\\x41-\\x45", "\\]", "\\-", "0-9", "A-é"],
    [*"ab(|)*+?{}", "{2}", "{,3}", "{1,2}", "(?:", "x{0}", "{1", "{*", "a|", "|b", "{3,1}", "{2,}"],
    ["(?i)", "[^", "]", *"kKſsSßẞÅåÅµμΣσςΘθϑϴiIıǅǆǄῼῳﬀ"],
]  # fmt: skip
TEXTS: Final = [
    "", "a", "b", "ab", "aa", "ba", "aab", "abab", "x", "A", "aA_1", "1", "-", "]", "^", ".", "{", "a*", "é", "É", "😀",
    "\n", "a\nb", "a b", *"kKſsSßẞÅÅΣςΘϴiIıǅǄῼῳﬀ",
]  # fmt: skip


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_re2j_says_the_same() -> None:
    """Of the patterns above and of thousands that are made up: which are refused, and which texts fit."""
    some = random.Random(14)
    asked = [(pattern, [*fitting, *others]) for pattern, fitting, others in FITS]
    asked += [(pattern, []) for pattern in REFUSED]
    for pieces in PIECES:
        made_up = ("".join(some.choices(pieces, k=some.randrange(1, 9))) for _ in range(1500))
        asked += [(pattern, TEXTS) for pattern in made_up if not is_different(pattern)]
    lines = [",".join(text.encode("utf-16-be").hex() for text in (pattern, *held)) for pattern, held in asked]
    done = subprocess.run(
        ["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp", class_path(), Path(__file__).with_name("Matches.java")],
        input="\n".join(lines), capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    theirs = done.stdout.splitlines()
    assert len(theirs) == len(asked)
    ours = [answer(pattern, held) for pattern, held in asked]
    different = [
        (pattern, said, own) for (pattern, _), said, own in zip(asked, theirs, ours, strict=True) if said != own
    ]
    assert different == []
    assert theirs.count("bad") < len(theirs) // 2


def is_different(pattern: str) -> bool:
    """What docs/differences.md names: categories without regard to case, and [:] within a class."""
    return "[:]" in pattern or ("(?i" in pattern and "\\p" in pattern.lower())


def answer(pattern: str, texts: list[str]) -> str:
    try:
        held = Pattern(pattern)
    except PatternError:
        return "bad"
    return "".join("01"[held.matches(text)] for text in texts)
