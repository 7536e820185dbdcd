"""`ottla.testing.Broker`: what a test may do with it, in which order, and what it is told when that makes no sense.

What a broker does between start and stop is told elsewhere; tests/cli/test_readme.py runs what the README shows.
"""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias
from urllib.request import urlopen

import pytest

from ottla.cluster.address import MachineRefused
from ottla.control.changes.snapshot import SnapshotRefused
from ottla.testing import Broker
from tests.support.patience import PATIENCE_SECONDS

BrokerThreads: TypeAlias = Callable[[], list[threading.Thread]]


def accepts(bootstrap: str) -> bool:
    """Does anybody accept connections there?"""
    host, _, port = bootstrap.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS).close()
    except ConnectionRefusedError:
        return False
    return True


@pytest.fixture
def broker_threads() -> BrokerThreads:
    """The threads of brokers that have begun since the test did: tests before it may share one."""
    before = set(threading.enumerate())
    return lambda: [thread for thread in threading.enumerate() if thread.name == "ottla" and thread not in before]


def test_block_is_as_long_as_the_broker(broker_threads: BrokerThreads) -> None:
    """It accepts within, and not after; nothing of it is left."""
    with Broker() as kafka:
        assert accepts(kafka.bootstrap_servers)
    assert not accepts(kafka.bootstrap_servers)
    assert broker_threads() == []


async def test_asynchronous_block_is_as_long_as_the_broker(broker_threads: BrokerThreads) -> None:
    """The loop of the test goes on while it starts and stops."""
    async with Broker(nodes=2) as kafka:
        assert [accepts(address) for address in kafka.bootstrap_servers.split(",")] == [True, True]
    assert broker_threads() == []


async def test_block_that_is_cancelled_before_it_is_entered_leaves_no_broker(broker_threads: BrokerThreads) -> None:
    """As by a timeout of the test: `__aexit__` is never called then."""
    entering = asyncio.ensure_future(Broker().__aenter__())
    await asyncio.sleep(0)  # it has begun, in a thread of its own
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    assert broker_threads() == []


def test_broker_that_is_too_late_stops_when_it_is_up(
    broker_threads: BrokerThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody enters its block, so nobody leaves it."""
    is_given_up = threading.Event()

    def loop_that_comes_late() -> asyncio.AbstractEventLoop:
        is_given_up.wait(PATIENCE_SECONDS)
        return asyncio.new_event_loop()

    monkeypatch.setattr("ottla.testing.broker._PATIENCE_S", 0.0)
    monkeypatch.setattr("ottla.broker.lifecycle.event_loop.new_event_loop", loop_that_comes_late)
    with pytest.raises(TimeoutError):
        Broker().start()
    (thread,) = broker_threads()
    is_given_up.set()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()


def test_broker_that_cannot_have_what_it_is_to_begin_with_is_stopped(tmp_path: Path) -> None:
    with Broker() as kafka:
        other = kafka.fork()
    other._data_dir = tmp_path
    with pytest.raises(SnapshotRefused):
        other.start()
    assert not other.is_running


def test_listeners_have_bootstrap_servers_of_their_own() -> None:
    """Every node of each; a name that is none is told from those that are."""
    with Broker(
        nodes=2, listen=["INTERNAL://127.0.0.1:0", "HOST://127.0.0.1:0"], advertise="HOST://localhost:0"
    ) as kafka:
        inside, outside = kafka.bootstrap_servers_on("INTERNAL"), kafka.bootstrap_servers_on("host")
        assert kafka.bootstrap_servers == inside
        assert [address.rpartition(":")[0] for address in outside.split(",")] == ["localhost"] * 2
        assert len({*inside.split(","), *outside.split(",")}) == 4
        with pytest.raises(ValueError, match="no listener OUTSIDE is advertised; those are INTERNAL, HOST"):
            kafka.bootstrap_servers_on("OUTSIDE")


def test_listeners_may_come_from_the_settings() -> None:
    """`listen` says where to listen only if they don't."""
    with Broker(settings={"listeners": "PLAINTEXT://localhost:0"}) as kafka:
        assert kafka.bootstrap_servers.startswith("localhost:")


def test_what_keeps_it_from_starting_is_raised(broker_threads: BrokerThreads, tmp_path: Path) -> None:
    """In the thread of the test, and no thread is left."""
    (tmp_path / "file").touch()
    with pytest.raises(MachineRefused, match=r"cannot use .*file"), Broker(data_dir=tmp_path / "file"):
        pytest.fail("it has started")
    assert broker_threads() == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"clock": "sundial"}, "clock is system, virtual or auto, not sundial"),
        ({"log_level": "loud"}, "log_level is one of debug, info, warning, error, not loud"),
        ({"settings": {"num.partitions": "many"}}, "num.partitions=many is not a whole number"),
        ({"settings": {"num.partitons": 3}}, "there is no setting num.partitons; did you mean num.partitions?"),
        ({"listen": "127.0.0.1"}, "127.0.0.1 is not HOST:PORT"),
        ({"control": "9644"}, "control 9644 is not HOST:PORT"),
    ],
)
def test_arguments_that_make_no_sense_are_refused_at_once(arguments: dict[str, Any], said: str) -> None:
    """Where they are written, and not when it is started."""
    with pytest.raises(ValueError, match=re.escape(said)):
        Broker(**arguments)


ASKING: dict[str, Callable[[Broker], object]] = {
    "advance": lambda broker: broker.advance(1),
    "stop a node": lambda broker: broker.node(1).stop(),
    "start a node": lambda broker: broker.node(1).start(),
}


@pytest.mark.parametrize("ask", [*ASKING.values(), lambda broker: broker.bootstrap_servers], ids=[*ASKING, "address"])
def test_before_the_start_nothing_can_be_asked(ask: Callable[[Broker], object]) -> None:
    with pytest.raises(RuntimeError, match="has not been started: use it in a with block, or call start"):
        ask(Broker(clock="virtual"))


@pytest.mark.parametrize("ask", ASKING.values(), ids=ASKING)
def test_after_the_end_nothing_can_be_asked(ask: Callable[[Broker], object]) -> None:
    """Nor is anybody warned of a coroutine that nobody awaits."""
    with Broker(clock="virtual") as kafka:
        pass
    with pytest.raises(RuntimeError, match="has stopped"):
        ask(kafka)


def test_a_broker_is_started_once_and_stopped_as_often_as_one_likes() -> None:
    broker = Broker()
    broker.stop()
    broker.start()
    broker.stop()
    broker.stop()
    with pytest.raises(RuntimeError, match="has been started already"):
        broker.start()


def test_journal_and_control_api_are_there_for_who_wants_them(tmp_path: Path) -> None:
    """As those of `ottla serve`; without them there is no file and no second port."""
    with Broker(journal=tmp_path / "journal.jsonl", control="127.0.0.1:0") as kafka:
        assert kafka.control_url is not None
        with urlopen(f"{kafka.control_url}/health", timeout=PATIENCE_SECONDS) as answer:
            assert answer.status == 200
    assert (tmp_path / "journal.jsonl").exists()
    with Broker() as kafka:
        assert kafka.control_url is None
