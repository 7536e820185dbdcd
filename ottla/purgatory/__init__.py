"""Waiting: operations that complete once, watchers, the timing wheel, clocks. Knows neither Kafka nor bytes.

timer = Timer(SystemClock(), loop=asyncio.get_running_loop())       one for the whole program
fetches = Purgatory[DelayedFetch]("Fetch", timer)                   one for each kind of operation

fetches.try_complete_else_watch(fetch, partitions_of(fetch))        complete it, or let it wait
fetches.check_and_complete(partition)                               something happened to this partition
timer.postpone(session, timer.now_ms() + session_timeout_ms)        a deadline that moves and moves
"""

from ottla.purgatory.clock import Clock, SystemClock, VirtualClock
from ottla.purgatory.operation import DelayedOperation
from ottla.purgatory.purgatory import Purgatory
from ottla.purgatory.timer import Alarm, Periodic, Timer
from ottla.purgatory.timing_wheel import NEVER_MS, TimerEntry, TimingWheel

__all__ = [
    "NEVER_MS",
    "Alarm",
    "Clock",
    "DelayedOperation",
    "Periodic",
    "Purgatory",
    "SystemClock",
    "Timer",
    "TimerEntry",
    "TimingWheel",
    "VirtualClock",
]
