"""kafka-python, which is pure Python."""

from __future__ import annotations

from typing import Final

from compatibility.clients.python import PythonLibrary

KAFKA_PYTHON: Final = PythonLibrary(
    "kafka-python",
    versions=("2.0.2", "2.2.21", "2.3.3", "3.0.12"),
    program="kafka_python",
    since={"static": "2.3.0", "transactions": "2.1.0", "new groups": None},
    python_before={"2.0.2": (3, 12)},
)
