"""Jars come over a network, which now and then hands over none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark import SparkConf, java_gateway
from pyspark.errors import PySparkRuntimeError

from ottla.pipeline.session import _launched_jvm

JVM = object()


def failing(times: int, text: bytes, asked: list[int]) -> Callable[..., object]:
    """`launch_gateway`, which fails so many times, with this in its log."""

    def launch(_conf: SparkConf, options: dict[str, object]) -> object:
        asked.append(1)
        if len(asked) <= times:
            options["stderr"].write(text)  # type: ignore[attr-defined]
            options["stderr"].flush()  # type: ignore[attr-defined]
            raise PySparkRuntimeError("it ended before it said anything")
        return JVM

    return launch


@pytest.mark.parametrize(
    ("times", "text", "attempts", "starts"),
    [
        (0, b"", 1, True),
        (2, b"[download failed: some.jar]", 3, True),
        (3, b"[download failed: some.jar]", 3, False),
        (1, b"no such option", 1, False),
    ],
    ids=["at once", "the third time", "too often", "for another reason"],
)
def test_a_failed_download_is_tried_again(
    times: int, text: bytes, attempts: int, starts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three times at most, and only if a download was what failed."""
    asked: list[int] = []
    monkeypatch.setattr(java_gateway, "launch_gateway", failing(times, text, asked))
    conf = SparkConf(loadDefaults=False)
    if starts:
        assert _launched_jvm(conf, tmp_path, tmp_path / "log") is JVM
    else:
        with pytest.raises(PySparkRuntimeError):
            _launched_jvm(conf, tmp_path, tmp_path / "log")
    assert len(asked) == attempts
