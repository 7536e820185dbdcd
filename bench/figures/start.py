"""From starting the process to its first answer, and the memory it holds then.

The echo's column has the limit for a program in Python that uses asyncio and uvloop: the time in which
`python -c "import asyncio, uvloop"` is over.
"""

from __future__ import annotations

import subprocess
import sys
import time

from bench.broker import Broker, UnableError, until_answering
from bench.figures.figure import Figure, Row, Values

START = Row("start to first answer, ms", smaller_is_better=True, goal="≤ 1.5 × the imports alone (echo's column)")
MEMORY = Row("resident memory after start, MB", smaller_is_better=True, goal="≤ 40")


def measure(broker: Broker, seconds: float) -> Values:
    if broker.pid is None:
        raise UnableError("it was started by someone else")
    if broker.is_echo:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import asyncio, uvloop"], check=True)
        return {START.title: (time.perf_counter() - started) * 1e3}
    until_answering(broker)
    first_answer_ms = (time.perf_counter() - broker.spawned_at) * 1e3
    return {START.title: first_answer_ms, MEMORY.title: broker.resident_bytes() / 1e6}


FIGURE = Figure("start", (START, MEMORY), measure, fresh=True)
