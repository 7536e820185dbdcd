"""aiokafka, for asyncio."""

from __future__ import annotations

from typing import Final

from compatibility.clients.python import PythonLibrary

AIOKAFKA: Final = PythonLibrary(
    "aiokafka",
    versions=("0.10.0", "0.12.0", "0.14.0"),
    program="aio",
    since={"new groups": None},
)
