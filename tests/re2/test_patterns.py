"""Patterns of RE2: what fits, what is refused, and that no pattern takes more than its time."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.pacing import Pace, TooCostly
from ottla.re2 import Pattern, PatternError, classes, matching, parsing
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
    (r"(?i)[^I]\p{Ll}\p{Lu}", ["ıKa", "ıKb"], ["iKa", "ıAa"]),
    (r"(?i)[\P{Ll}k-l]", ["A", "K", "\u212a"], ["a", "é"]),
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
    "\\p{", "\\p{}", "\\pX", "\\p^L", "[b-a]", "[a-\\d]", "[[:foo:]]", "[\\Qa]", "[[:]]", "[\\b]", "(?P=a)",
    "((a{1000}){1000}){1000}",
]  # fmt: skip

#: After each character another set of places.
COSTLY: Final = "(a|b)*a(a|b){500}c"


def some_text(length: int) -> str:
    some = random.Random(7)
    return "".join(some.choice("ab") for _ in range(length))


@pytest.mark.parametrize(("pattern", "fitting", "others"), FITS, ids=[pattern for pattern, *_ in FITS])
def test_all_of_the_text_has_to_fit(pattern: str, fitting: list[str], others: list[str]) -> None:
    """As RE2/J has it."""
    held = Pattern(pattern)
    assert [held.matches(text) for text in fitting] == [True] * len(fitting)
    assert [held.matches(text) for text in others] == [False] * len(others)


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    """With a sentence that says why."""
    with pytest.raises(PatternError, match=r"\w+ \w+"):
        Pattern(pattern)


def test_no_pattern_takes_more_than_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ways through a pattern are not tried one by one; looking for new places in it is counted, and has an end."""
    patient = Pattern("(a*)*(a|a)*(a?){30}a{30}b")
    assert not patient.matches("a" * 1000)
    assert matching._LOOKS_MAX - patient._looks_left < 1000 * patient._end
    monkeypatch.setattr(matching, "_LOOKS_MAX", 10_000)
    with pytest.raises(TooCostly, match="pattern"):
        Pattern(COSTLY).matches(some_text(1000))


def test_others_have_their_turn_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """With each new state, and within one that is large, the task may be suspended; in reading a long pattern too."""
    looks = []
    for module in (matching, parsing, classes):
        monkeypatch.setattr(module, "yield_turn", lambda: looks.append(1))
    pattern = Pattern(COSTLY)
    assert len(looks) >= len("(a|b)*a(a|b)")
    looks.clear()
    pattern.matches(some_text(1000))
    assert len(looks) >= 1000
    looks.clear()
    large = Pattern("(.?){1000}" * 20)
    looks.clear()
    large.matches("a")
    assert len(looks) >= large._end // 256
    looks.clear()
    Pattern("[" + "a-b" * 1000 + "]")
    assert len(looks) >= 1000


@pytest.mark.parametrize(
    ("pattern", "text", "turns"),
    [
        (r"(\w{0,1000}){0,30}", "", 2 * 60_000 // 256),
        (r"\Q" + "k" * 8_000, "", 8_000 // 8),
        (r"(\w{0,1000}){0,30}", "k", 3 * 60_000 // 256 + 30_000 // 256),
    ],
    ids=["many instructions", "a long quotation", "many places"],
)
def test_a_large_pattern_takes_as_many_turns_as_it_is_large(pattern: str, text: str, turns: int) -> None:
    """Where every slice is over at once; nothing of it is done in one go: not its making, nor a step of a match."""
    due: deque[Callable[[], object]] = deque()
    pace = Pace(due.append, now=count().__next__)

    def match() -> None:
        Pattern(pattern).matches(text)

    pace.run(match)
    taken = 0
    while due:
        due.popleft()()
        taken += 1
    assert pace.is_settled
    assert taken >= turns
    pace.close()


def test_what_is_remembered_is_forgotten_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what fits is the same."""
    monkeypatch.setattr(matching, "_REMEMBERED_MAX", 50)
    some = random.Random(7)
    pattern = Pattern("(a|b)*a(a|b){20}")
    for _ in range(20):
        text = "".join(some.choice("ab") for _ in range(100))
        assert pattern.matches(text) == (text[-21] == "a")
        assert pattern._remembered <= 50


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
    asked += [(pattern, []) for pattern in REFUSED[:-1]]  # it has no limit, and no memory for the last
    for pieces in PIECES:
        asked += [("".join(some.choices(pieces, k=some.randrange(1, 9))), TEXTS) for _ in range(1500)]
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


def answer(pattern: str, texts: list[str]) -> str:
    try:
        held = Pattern(pattern)
    except PatternError:
        return "bad"
    return "".join("01"[held.matches(text)] for text in texts)
