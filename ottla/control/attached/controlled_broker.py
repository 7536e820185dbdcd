"""A broker together with what tests and scripts do with it: the one object that stands for all of `ottla.control`.

    Server                 a whole broker, which knows nothing of this
      ▲
    ControlledBroker       faults · waiting · time · nodes · recorder · reset, each made when it is first used
      ▲
    ControlApi, ottla.testing

It is made before the server runs, because a seed file and a clock that jumps are attached to the start.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

    from ottla.broker.lifecycle.server import Server
    from ottla.control.changes.node_switch import NodeSwitch
    from ottla.control.changes.virtual_time import VirtualTime
    from ottla.control.faults.engine import Faults
    from ottla.control.state.requests import RequestRecorder
    from ottla.control.state.waiting import Waiting

#: The system's clock, one that is moved from outside, or one that jumps by itself as well.
ClockKind: TypeAlias = Literal["system", "virtual", "auto"]
#: The default for a clock that jumps by itself.
AUTOJUMP_THRESHOLD_MS: Final = 50


class ControlledBroker:
    """All that a test or a script can do with one broker."""

    def __init__(self, server: Server, *, seed: Path | None = None, autojump_threshold_ms: int | None = None) -> None:
        """`seed`: a file with topics, records and offsets to start with. `autojump_threshold_ms`: the real time
        without incoming bytes after which the virtual clock jumps to the next deadline; None: it never does.
        """
        self.server = server
        #: Requests and answers, once `record_requests` was called.
        self.recorder: RequestRecorder | None = None
        #: Where the control API answers, once its socket is bound; None: nowhere.
        self.control_url: str | None = None
        self._jumps = autojump_threshold_ms is not None
        if seed is not None:
            from ottla.control.attached.seed_file import SeedFile

            server.attach(SeedFile(server, seed))
        if autojump_threshold_ms is not None:
            from ottla.control.attached.autojump import AutoJump

            server.attach(AutoJump(server, self.time, autojump_threshold_ms))

    @property
    def clock_kind(self) -> ClockKind:
        """How the broker's time passes."""
        if not self.server.clock.stands_still:
            return "system"
        return "auto" if self._jumps else "virtual"

    @cached_property
    def time(self) -> VirtualTime:
        """Moves the virtual clock."""
        from ottla.control.changes.virtual_time import VirtualTime

        return VirtualTime(self.server)

    @cached_property
    def nodes(self) -> NodeSwitch:
        """Stops and starts single nodes."""
        from ottla.control.changes.node_switch import NodeSwitch

        return NodeSwitch(self.server)

    @cached_property
    def faults(self) -> Faults:
        """The faults and holds that are set."""
        from ottla.control.faults.engine import Faults

        server = self.server
        return Faults(server.cluster, server.timer, server.services, server.events, server.shared)

    @cached_property
    def waiting(self) -> Waiting:
        """Waits until a condition is true. The broker's stop ends all waits."""
        from ottla.control.state.waiting import Waiting

        return self.server.services.enter(Waiting(self.server.parts))

    def record_requests(self) -> None:
        """Keep requests and answers from now on."""
        from ottla.control.state.requests import RequestRecorder

        self.recorder = RequestRecorder(self.server.events)
        self.server.record_with(self.recorder)

    async def reset(self) -> None:
        """Put the broker back to its state at the start; connections stay. See `changes.reset`."""
        from ottla.control.changes.reset import reset

        if "faults" in self.__dict__:
            self.faults.clear()
        await reset(self.server.parts, self.nodes.start)
