"""franz-go's client: consuming, groups of every kind, transactions."""

from __future__ import annotations

from typing import Final

from compatibility.suites.golang import GoSuite
from compatibility.suites.suite import BOOTSTRAP

FRANZ_GO: Final = GoSuite(
    name="franz-go",
    version="v1.22.2",
    module="github.com/twmb/franz-go",
    package="./pkg/kgo",
    scope="package kgo, with 20,000 records where it has 500,000, and one replica where it has three",
    variables={"KGO_SEEDS": BOOTSTRAP, "KGO_TEST_RF": "1", "KGO_TEST_RECORDS": "20000", "KGO_LOG_LEVEL": "none"},
)
