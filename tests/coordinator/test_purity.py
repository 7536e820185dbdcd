"""What the machines may not know."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ottla.coordinator

HERE = Path(ottla.coordinator.__file__).parent
#: What drives machines: it has to do with tasks and timers. All else that is asynchronous would be one thing too many.
DRIVERS = {HERE / "runtime" / name for name in ("owner.py", "runtime.py", "sweep.py", "timers.py")}
PURE = sorted(set(HERE.rglob("*.py")) - DRIVERS)
FORBIDDEN = {
    "asyncio",
    "datetime",
    "io",
    "os",
    "ottla.purgatory",
    "random",
    "secrets",
    "socket",
    "structlog",
    "threading",
    "time",
    "uuid",
}
#: It hands the timer of its node to the runtime, and reads the date when a group is made.
HANDS_OVER = {HERE / room / "coordinator.py": {"ottla.purgatory"} for room in ("groups", "transactions")}


@pytest.mark.parametrize("path", PURE, ids=lambda path: str(path.relative_to(HERE)))
def test_machines_wait_for_nothing_and_ask_no_clock(path: Path) -> None:
    """No I/O, no event loop, no time, no random source: only the runtime has to do with those."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
        assert not isinstance(node, ast.AsyncFunctionDef | ast.Await)
    forbidden = {name for name in FORBIDDEN if any(f"{module}.".startswith(f"{name}.") for module in imported)}
    assert forbidden <= HANDS_OVER.get(path, set())
