"""What the core may not know."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ottla.coordinator

CORE = sorted(
    path
    for path in Path(ottla.coordinator.__file__).parent.rglob("*.py")
    if path.name not in {"owner.py", "coordinator.py", "tables.py"}
)
FORBIDDEN = {"asyncio", "time", "socket", "threading", "random", "os", "io", "ottla.purgatory", "structlog", "datetime"}


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.name)
def test_the_core_waits_for_nothing_and_asks_no_clock(path: Path) -> None:
    """No I/O, no event loop, no time, no dice: only owner.py and coordinator.py have to do with those."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
        assert not isinstance(node, ast.AsyncFunctionDef | ast.Await)
    assert not imported & FORBIDDEN
