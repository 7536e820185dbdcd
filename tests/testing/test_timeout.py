"""OTTLA_TIMEOUT_S says for a whole run how long waits last."""

from __future__ import annotations

import os
import subprocess
import sys
from inspect import Parameter, signature
from types import FunctionType

import pytest

from ottla.testing.aio import AsyncLooking
from ottla.testing.barriers import AsyncHold, Hold
from ottla.testing.faults import AsyncFault, Fault
from ottla.testing.groups import AsyncGroup, Group
from ottla.testing.inside import TIMEOUT_S
from ottla.testing.looking import Looking
from ottla.testing.topics import AsyncTopic, Topic


def timeout_in(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A process of its own, for it is read once."""
    inherited = {name: value for name, value in os.environ.items() if name != "OTTLA_TIMEOUT_S"}
    return subprocess.run(
        [sys.executable, "-c", "from ottla.testing.inside import TIMEOUT_S; print(TIMEOUT_S)"],
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("said", "timeout_s"), [("2.5", "2.5"), ("60", "60.0"), ("", "10.0"), (None, "10.0")])
def test_environment_says_how_long_waits_last(said: str | None, timeout_s: str) -> None:
    assert timeout_in({} if said is None else {"OTTLA_TIMEOUT_S": said}).stdout.strip() == timeout_s


@pytest.mark.parametrize("said", ["soon", "0", "-1", "nan", "inf", "100000"])
def test_what_is_no_number_of_seconds_is_refused(said: str) -> None:
    ended = timeout_in({"OTTLA_TIMEOUT_S": said})
    assert ended.stderr.splitlines()[-1] == (
        f"ValueError: OTTLA_TIMEOUT_S={said} is not a number of seconds above 0 and up to 86400"
    )


def test_every_wait_takes_it() -> None:
    """Whatever has a `timeout_s` unless it is told, with an event loop and without."""
    kinds = (Looking, AsyncLooking, Group, AsyncGroup, Topic, AsyncTopic, Fault, AsyncFault, Hold, AsyncHold)
    functions = [function for kind in kinds for function in vars(kind).values() if isinstance(function, FunctionType)]
    bounds = [signature(function).parameters.get("timeout_s") for function in functions]
    defaults = [bound.default for bound in bounds if bound is not None and bound.default is not Parameter.empty]
    assert defaults == [TIMEOUT_S] * 14
