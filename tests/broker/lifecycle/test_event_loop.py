"""Which loop a broker runs on."""

from __future__ import annotations

import asyncio
import sys

import pytest

from ottla.broker.lifecycle.event_loop import new_event_loop


def module_of(loop: asyncio.AbstractEventLoop) -> str:
    loop.close()
    return type(loop).__module__.partition(".")[0]


def test_uvloop_is_used_where_it_is() -> None:
    pytest.importorskip("uvloop", exc_type=ImportError)
    assert module_of(new_event_loop()) == "uvloop"


def test_asyncio_serves_where_there_is_no_uvloop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert module_of(new_event_loop()) == "asyncio"
