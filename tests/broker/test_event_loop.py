"""Which loop a broker runs on, and that signals reach it on any."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import pytest

from ottla.broker.event_loop import new_event_loop, on_signals


def module_of(loop: asyncio.AbstractEventLoop) -> str:
    loop.close()
    return type(loop).__module__.partition(".")[0]


def test_uvloop_is_used_where_it_is() -> None:
    pytest.importorskip("uvloop", exc_type=ImportError)
    assert module_of(new_event_loop()) == "uvloop"


def test_asyncio_serves_where_there_is_no_uvloop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert module_of(new_event_loop()) == "asyncio"


class WithoutSignals(asyncio.SelectorEventLoop):
    """Knows nothing of signals, as the loops of Windows."""

    def add_signal_handler(self, sig: int, callback: Callable[..., Any], *args: Any) -> None:
        raise NotImplementedError


@pytest.mark.parametrize("make", [new_event_loop, asyncio.new_event_loop, WithoutSignals])
def test_signals_reach_the_loop(make: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """Even one that has nothing else to do."""
    before = signal.getsignal(signal.SIGUSR1)

    async def wait() -> signal.Signals:
        loop = asyncio.get_running_loop()
        told: asyncio.Future[signal.Signals] = loop.create_future()
        on_signals(loop, [signal.SIGUSR1], told.set_result)
        os.kill(os.getpid(), signal.SIGUSR1)
        async with asyncio.timeout(20):
            return await told

    try:
        with asyncio.Runner(loop_factory=make) as runner:
            assert runner.run(wait()) is signal.SIGUSR1
    finally:
        signal.signal(signal.SIGUSR1, before)
