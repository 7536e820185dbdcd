"""What a server opens at its start besides its listeners, each only where it is asked for."""

from __future__ import annotations

from asyncio import Event, Task
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from socket import gethostname
from typing import TYPE_CHECKING

from ottla.broker.lifecycle.assembly import Assembly
from ottla.broker.network.endpoints import Endpoint
from ottla.broker.upkeep.rounds import Round
from ottla.cluster.address import Address, MachineRefused
from ottla.events.kind import Kind
from ottla.settings.settings import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from ottla.broker.network.connection import Connection
    from ottla.broker.network.listener import Listener
    from ottla.cluster.persistence import Persistence
    from ottla.control.api.http import ControlListener
    from ottla.control.api.running import RunningBroker
    from ottla.control.changes.clock_hand import ClockHand
    from ottla.events.stream import Stream
    from ottla.log.storage.file_operations import FileOperations
    from ottla.purgatory import Clock


async def bind_control(
    broker: RunningBroker, parts: Assembly, endpoints: Iterable[Endpoint], address: Address, token: str | None
) -> tuple[ControlListener, str]:
    """Bind the control API's socket; returns where it is, too. Raises `MachineRefused` and `ConfigError`."""
    from ottla.control.api.control import Control
    from ottla.control.api.gate import Gate
    from ottla.control.api.http import ControlListener

    listener = ControlListener(Control(broker), Gate(_own_names(address, endpoints), token), parts.tasks, parts.events)
    try:
        port = await listener.open(address.host, address.port)
    except OSError as error:
        raise address.refused("--control", error) from None
    if token is None and not listener.is_for_this_machine:
        listener.stop_accepting()
        raise ConfigError(
            f"--control {address} lets other machines in, and there they need a token; add --control-token-file "
            f"FILE, or listen with --control 127.0.0.1:{address.port}"
        )
    return listener, f"http://{Address(address.host, port)}"


def _own_names(control: Address, endpoints: Iterable[Endpoint]) -> list[str]:
    """By which names others may ask for this machine."""
    told = [
        address.host
        for endpoint in endpoints
        for address in (endpoint.listen, endpoint.advertise)
        if address is not None and not address.is_wildcard
    ]
    return [control.host, gethostname(), *told]


async def open_data_dir(
    parts: Assembly, clock: Clock, path: Path, file_operations: FileOperations | None, stopping: Event
) -> Persistence:
    """Have everything there again before anybody asks. Raises `MachineRefused`."""
    try:
        from ottla.cluster.persistence import Persistence
    except ImportError as error:
        raise MachineRefused(
            f"--data-dir: logs on disk need what this system has not ({error}); leave it out to have them in memory"
        ) from None
    from ottla.log.storage.file_operations import FileOperations

    persistence = Persistence(parts.cluster, clock, path, file_operations or FileOperations())
    await persistence.open(stopping)
    return persistence


async def plant_seed(parts: Assembly, path: Path) -> None:
    """Have what the seed says, unless there are topics already: after a restart they are what became of it."""
    from ottla.control.changes.seeds import plant, read_seed

    seed, events = read_seed(path), parts.events
    if parts.cluster.topics:
        events.tell(Kind.SEED_SKIPPED, path=str(path), reason="there are topics already")
        return
    await plant(parts.services, parts.cluster, seed)
    events.tell(Kind.SEED_PLANTED, path=str(path), entries=len(seed))


def open_journal(path: Path, events: Stream) -> AbstractContextManager[object]:
    """Write down what happens in groups, until the end. Raises `MachineRefused`."""
    from ottla.broker.groups.journal_file import keeping_journal

    return keeping_journal(path, events)


def begin_to_jump(
    parts: Assembly, hand: ClockHand, connections: Callable[[], Iterable[Connection]], threshold_ms: int
) -> Task[None]:
    """Have the virtual clock jump by itself."""
    from ottla.control.changes.autojump import AutoJump

    return parts.tasks.create_task(AutoJump(parts, hand, connections, threshold_ms).run(), name="autojump")


def close_idle_connections(listeners: Sequence[Listener], parts: Assembly, clock: Clock) -> None:
    """From now on close connections that have been silent for connections.max.idle.ms, or a little longer.

    A virtual clock jumps over hours in which real clients could not have sent anything, so it closes nobody.
    """
    idle_ms: int = parts.cluster.settings["connections.max.idle.ms"]
    if idle_ms < 0 or clock.stands_still:
        return

    def look() -> None:
        for listener in listeners:
            listener.close_idle()

    Round(parts.timer, parts.services.background, parts.events, "idle connections", look, lambda: idle_ms).start()
