"""What `ottla serve` loads before it is ready: nothing that it does not need to say so."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.support.patience import PATIENCE_SECONDS

#: Runs the command line and says at the end which modules were there when it was ready.
_SCRIPT = """
import sys
from ottla.cli import main, serve
tell_ready = serve._tell_ready
def tell_ready_and_modules(*arguments):
    print(sorted(sys.modules), flush=True)
    tell_ready(*arguments)
serve._tell_ready = tell_ready_and_modules
sys.exit(main(["serve", "--listen", "127.0.0.1:0", *sys.argv[1:]]))
"""

#: Modules and packages that wait for their use, and what that is; with a dot at the end only what is in the package.
_WAITING = {
    "aiokafka": "ottla topics and groups",
    "h11": "--control",
    "ottla.control": "--control, --seed and --clock auto",
    "ottla.broker.groups.journal_file": "--journal",
    "ottla.broker.network.timed_call": "--log-level debug",
    "ottla.broker.events": "the first group",
    "ottla.broker.handlers": "the first request of each kind",
    "ottla.settings.stored": "a setting that nothing goes by",
    "ottla.cli.reference.events_and_settings": "make docs",
    "ottla.coordinator": "the first group",
    "ottla.protocol.messages.": "the first request of each kind",
    "ottla.log.": "the first topic",
    "ottla.pipeline": "ottla pipeline",
    "ottla.testing": "tests",
    "difflib": "a name that there is not",
    "ottla.cli.topics": "ottla topics",
    "pathlib": "an option with a path",
    "pyspark": "ottla pipeline",
    "rich": "nothing here; structlog takes it up",
    "structlog": "the first line of a log on a terminal",
    "cramjam": "the first compressed batch",
    "lz4": "the first compressed batch",
    "fastcrc": "the first batch",
    "re2": "the first pattern",
    "http": "nothing here",
    "urllib.request": "nothing here",
}


#: The same with a control API, which loads what it answers with when it is first asked.
_WAITING_WITH_CONTROL = ("ottla.control.changes", "ottla.control.faults.engine", "ottla.coordinator", "ottla.log.")


def loaded_with(*options: str) -> set[str]:
    """The modules that are there when the ready line is about to be said."""
    process = subprocess.Popen(
        [sys.executable, "-c", _SCRIPT, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        return set(ast.literal_eval(process.stdout.readline()))
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    return loaded_with()


def test_what_serving_needs_is_there(loaded: set[str]) -> None:
    """Else the other test would prove nothing."""
    assert {"uvloop", "ottla.broker.lifecycle.server", "ottla.broker.network.connection"} <= loaded


@pytest.mark.parametrize("name", _WAITING)
def test_what_may_wait_is_not_loaded_at_start(loaded: set[str], name: str) -> None:
    """A module at start is a millisecond at every start; each of these has its moment later."""
    assert not found_of(name, loaded), f"wait for {_WAITING[name]}"


def test_a_control_api_loads_what_it_answers_with_when_it_is_asked() -> None:
    loaded = loaded_with("--control", "127.0.0.1:0")
    assert "ottla.control.api.http" in loaded
    assert not {module for name in _WAITING_WITH_CONTROL for module in found_of(name, loaded)}


def found_of(name: str, loaded: set[str]) -> set[str]:
    return {module for module in loaded if module == name or module.startswith(name.rstrip(".") + ".")}
