"""Public suites: what is read of what they print, what is kept of it, and what is printed."""

from __future__ import annotations

from typing import Final

from compatibility import suites_section
from compatibility.results import Stamp
from compatibility.suites import SUITES, golang, kafka_python, record
from compatibility.suites.suite import Outcome, Outcomes

_PASSED, _FAILED, _SKIPPED = Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED

_SAID_BY_GO: Final = """\
\x16=== RUN   TestReader
\x16=== RUN   TestReader/commits
\x16    --- PASS: TestReader/commits (0.10s)
\x16=== RUN   TestReader/rebalances
\x16=== RUN   TestReader/leaves
    reader_test.go:1: words of the test, with --- PASS: of no test in them
\x16    --- FAIL: TestReader/rebalances (0.20s)
\x16--- FAIL: TestReader (0.30s)
\x16=== RUN   TestACLs
\x16--- SKIP: TestACLs (0.00s)
\x16=== RUN   TestWriter
panic: no broker
"""


def test_what_a_go_program_prints_is_read() -> None:
    """Each test by its name; one that began and never ended, for another panicked, is open."""
    assert golang.read(_SAID_BY_GO) == (
        {"TestReader": _FAILED, "TestReader/commits": _PASSED, "TestReader/rebalances": _FAILED, "TestACLs": _SKIPPED},
        {"TestReader/leaves", "TestWriter"},
    )


def test_a_go_test_that_is_cut_off_does_not_pass() -> None:
    """Though one of its parts has: it may have waited for a broker."""
    whole = "\x16=== RUN   TestA\n\x16=== RUN   TestA/b\n\x16--- PASS: TestA/b (0.00s)\n"
    assert not golang.passes(whole + "\x16=== RUN   TestA/c\npanic: test timed out after 10s\n")
    assert golang.passes(whole + "\x16--- PASS: TestA (0.00s)\n")


def test_a_go_program_is_started_again_for_what_is_open() -> None:
    """Without what has ended; of a test with an open part, without its other parts alone."""
    ended, open_tests = golang.read(_SAID_BY_GO)
    assert golang.patterns(ended, open_tests) == "^TestACLs$|^TestReader$/^commits$|^TestReader$/^rebalances$"
    assert golang.patterns(ended, set()) == "^TestACLs$|^TestReader$"


def test_a_report_of_pytest_is_read() -> None:
    """Errors of fixtures are failures."""
    report = """<testsuites><testsuite>
      <testcase classname="test.integration.test_admin" name="test_create"/>
      <testcase classname="test.integration.test_admin" name="test_acls"><failure message="no"/></testcase>
      <testcase classname="test.integration.test_admin" name="test_setup"><error message="no"/></testcase>
      <testcase classname="test.integration.test_admin" name="test_old"><skipped/></testcase>
    </testsuite></testsuites>"""
    assert kafka_python.read(report) == {
        "test_admin::test_create": _PASSED,
        "test_admin::test_acls": _FAILED,
        "test_admin::test_setup": _FAILED,
        "test_admin::test_old": _SKIPPED,
    }


def test_tests_that_need_no_broker_are_left_out() -> None:
    """With their parts, and without others whose names begin alike."""
    outcomes: Outcomes = {"TestHash": _PASSED, "TestHash/empty": _PASSED, "TestHashing": _FAILED}
    assert record.without(outcomes, frozenset({"TestHash"})) == {"TestHashing": _FAILED}


_OTTLA: Final[Outcomes] = {"a": _PASSED, "b": _FAILED, "c": _FAILED, "d": _PASSED, "e": _SKIPPED}
_KAFKA: Final[Outcomes] = {"a": _PASSED, "b": _PASSED, "c": _FAILED, "d": _FAILED, "e": _PASSED}


def test_a_row_has_the_counts_and_the_names_of_what_is_not_alike() -> None:
    """What fails with Ottla alone is a fault of Ottla's, or what it does not serve."""
    kept = record.row(SUITES[0], {"ottla": _OTTLA, "kafka": _KAFKA}, Stamp("2026-11-22", "1234567"))
    assert kept["ottla"] == {"passed": 2, "failed": 2, "skipped": 1}
    assert kept["kafka"] == {"passed": 3, "failed": 2, "skipped": 0}
    assert (kept["fail with Ottla alone"], kept["fail with Kafka alone"]) == (["b"], ["d"])
    assert (kept["fail with both"], kept["skipped with Ottla alone"]) == (["c"], ["e"])


def test_the_section_has_a_row_for_each_suite_and_the_names_below() -> None:
    """Where there was no Kafka, it says so; suites that are not run have their reason."""
    stamp = Stamp("2026-11-22", "1234567")
    both = record.row(SUITES[0], {"ottla": _OTTLA, "kafka": _KAFKA}, stamp)
    alone = record.row(SUITES[1], {"ottla": _OTTLA}, stamp)
    not_run = [{"suite": "kafkajs", "why": "its package carries no tests"}]
    shown = suites_section.lines({"kafka": "4.4.0", "rows": [both, alone], "not run": not_run})
    name, other = (f"{suite.name} {suite.version}" for suite in SUITES[:2])
    assert f"| {name} | 2 | 2 | 1 | 3 | 2 | 0 | 2026-11-22, 1234567 |" in shown
    assert f"| {other} | 2 | 2 | 1 | not run | not run | not run | 2026-11-22, 1234567 |" in shown
    assert shown[shown.index("Fail with Ottla, and pass with Kafka:") + 2] == "- `b`"
    assert "- kafkajs: its package carries no tests." in shown
