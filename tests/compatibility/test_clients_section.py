"""What the section about clients says of each outcome."""

from __future__ import annotations

from typing import Any

import pytest

from compatibility.clients_section import lines
from compatibility.stories import STORIES


def side(made: str = "2026-11-22", **unusual: str) -> dict[str, Any]:
    """All stories passed, but for these."""
    stories = {story.name: unusual.get(story.name, "passed") for story in STORIES}
    return {"made": made, "commit": "abc1234", "release": "4.4.0", "stories": stories}


def printed(**row: Any) -> list[str]:
    return printed_rows({"version": "3.0.12", **row})


def printed_rows(*rows: dict[str, Any]) -> list[str]:
    of_one = [{"client": "kafka-python", **row} for row in rows]
    return lines({"made": "2026-12-01", "commit": "def5678", "rows": of_one})


@pytest.mark.parametrize(
    ("outcome", "shown"),
    [
        ("passed", "| group | ✓ | ✓ |"),
        ("client has none", "| group | – | ✓ |"),
        ("not served: SSL is not served", "| group | not served | ✓ |"),
        ("failed: nobody came", "| group | ✗ | ✓ |"),
    ],
)
def test_an_outcome_has_its_mark_beside_kafkas(outcome: str, shown: str) -> None:
    """Kafka's is the last column."""
    assert shown in printed(ottla=side(group=outcome), kafka=side())


@pytest.mark.parametrize(
    ("outcomes", "shown"),
    [
        (("passed", "passed"), "✓"),
        (("client has none", "passed"), "✓"),
        (("client has none", "client has none"), "–"),
        (("failed: nobody came", "passed"), "✓, but ✗ 2.3.3"),
        (("failed: nobody came", "failed: nobody came"), "✗"),
    ],
)
def test_kafkas_column_is_about_all_versions(outcomes: tuple[str, str], shown: str) -> None:
    """It says which version is different, and leaves out those that have no such thing."""
    versions = zip(("2.3.3", "3.0.12"), outcomes, strict=True)
    rows = [{"version": version, "ottla": side(), "kafka": side(group=outcome)} for version, outcome in versions]
    assert f"| group | ✓ | ✓ | {shown} |" in printed_rows(*rows)


def test_why_something_failed_is_told_below_the_table() -> None:
    """And on which side."""
    told = printed(ottla=side(), kafka=side(group="failed: waited in vain: nobody came"))
    assert "- 3.0.12, group, Kafka: waited in vain: nobody came" in told


def test_what_a_client_has_not_is_not_counted() -> None:
    """Seven stories are left, of which Ottla serves six."""
    told = printed(ottla=side(TLS="not served: no", static="client has none"), kafka=side(static="client has none"))
    assert "| [kafka-python](#kafka-python) | Python | 3.0.12 | 6 ✓, 1 not served | 7 ✓ |" in told


def test_an_old_result_keeps_its_day() -> None:
    """A version that could not be played again says so, and shows what came of it before."""
    skipped = {"made": "2026-12-01", "commit": "def5678", "why": "needs `go`, which is not on the PATH"}
    told = printed(ottla=side(), kafka=side(), **{"not run": skipped})
    assert "| group | ✓ | ✓ |" in told
    assert "- 3.0.12: not run on 2026-12-01: needs `go`, which is not on the PATH" in told
    assert "- Played on 2026-11-22, at abc1234: 3.0.12" in told


def test_what_was_never_run_is_not_said_to_work() -> None:
    """Neither in the table nor in the summary."""
    told = printed(**{"not run": {"made": "2026-12-01", "commit": "def5678", "why": "needs `go`"}})
    assert "| group | not run | not run |" in told
    assert "| [kafka-python](#kafka-python) | Python | 3.0.12 | not run | not run |" in told


def test_versions_that_were_played_on_other_days_say_when() -> None:
    """Kafka's side may be older than Ottla's."""
    told = printed(ottla=side(made="2026-12-01"), kafka=side())
    assert "- Played on 2026-12-01, at abc1234: 3.0.12" in told
    assert "- Played on 2026-11-22, at abc1234: 3.0.12" in told
