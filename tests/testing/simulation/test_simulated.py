"""`@simulated()` and `--ottla-seed`: what pytest sees of it."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

_TEST = """
import pytest, random
from ottla.testing import simulated

@pytest.fixture
def limit():
    return 3

@simulated(seeds=5)
@pytest.mark.parametrize("word", ["a"])
async def test_low(kafka, limit, word):
    with open("told", "a") as told:
        told.write("x")
    assert random.Random(len(open("told").read())).random() >= 0 and kafka.bootstrap_servers
    if len(open("told").read()) > limit:
        raise ValueError("too high")

class TestAll:
    @simulated([4])
    async def test_in_a_class(self, kafka):
        assert kafka.now_ms < 1_000
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    pytester.makepyfile(_TEST)
    return pytester


def test_a_failure_says_its_seed_and_how_to_see_it_again(run: pytest.Pytester) -> None:
    """The fourth seed fails, which is 3; fixtures, marks and classes are as ever."""
    result = run.runpytest_subprocess()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*simulated with seed 3; once more: pytest --ottla-seed=3*PYTHONHASHSEED=0*"])
    assert (run.path / "told").read_text() == "xxxx"


def test_a_chosen_seed_is_told_alone(run: pytest.Pytester) -> None:
    """Of every simulated test, whatever its own seeds are."""
    run.runpytest_subprocess("--ottla-seed=12").assert_outcomes(passed=2)
    assert (run.path / "told").read_text() == "x"
