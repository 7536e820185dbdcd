"""Many members of one group, with no initial delay: the time until all are Stable, and how it grows; then silence.

For the last row a thousand members with long session timeouts hold their connections and send nothing: a broker that
sleeps until something is due is not woken at all.
"""

from __future__ import annotations

import asyncio

import uvloop

from bench.broker import Broker, UnableError
from bench.crowd import Crowd
from bench.figures.figure import Figure, Row, Values
from bench.members import fresh_name, until_coordinated
from tests.support.client import Client

SECONDS_MAX = 30.0

TEN = Row("10 members to Stable, ms", digits=1, smaller_is_better=True)
HUNDRED = Row("100 members to Stable, ms", digits=1, smaller_is_better=True)
THOUSAND = Row("1,000 members to Stable, ms", smaller_is_better=True, goal="ahead of Kafka and kfake; ≤ N log N")
WAKE_UPS = Row("wake-ups/s, 1,000 idle members", digits=1, smaller_is_better=True, goal="0")
IDLE_CPU = Row("… CPU ms/s, idle", digits=1, smaller_is_better=True)


def measure(broker: Broker, seconds: float) -> Values:
    if broker.is_echo:
        raise UnableError("an echo has no groups")
    if broker.peer == "mock":
        raise UnableError("its initial delay of 3 s can't be switched off from here")
    return uvloop.run(_measure(broker, seconds))


async def _measure(broker: Broker, seconds: float) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    for row, size in ((TEN, 10), (HUNDRED, 100), (THOUSAND, 1_000)):
        group = fresh_name("crowd")
        with Client(broker.bootstrap) as client:
            until_coordinated(client, group)
        crowd = Crowd(broker, group, size)
        try:
            await crowd.connect()
            values[row.title] = await crowd.until_stable(SECONDS_MAX) * 1e3
            if size == 1_000 and broker.pid is not None:
                await asyncio.sleep(1.0)  # the last beats are answered, the broker's own work after a rebalance is done
                wake_ups, cpu = broker.wake_ups(), broker.cpu_seconds()
                await asyncio.sleep(max(seconds, 2.0))
                values[WAKE_UPS.title] = (broker.wake_ups() - wake_ups) / max(seconds, 2.0)
                values[IDLE_CPU.title] = (broker.cpu_seconds() - cpu) / max(seconds, 2.0) * 1e3
        finally:
            crowd.close()
    return values


FIGURE = Figure("crowds", (TEN, HUNDRED, THOUSAND, WAKE_UPS, IDLE_CPU), measure)
