"""Group members by the thousand: each a connection that does what a consumer's group protocol does, and no more.

All connections stand before the first JoinGroup goes out. A member joins, comes back with the id it was given, syncs
(the leader with an assignment for everyone), beats, and rejoins when it is told to. Beats begin 10 ms after a sync and
double their distance: an early small generation hears of the next one soon, and a large one is not a storm.

The crowd is stable when everyone holds an assignment of the same generation.
"""

from __future__ import annotations

import asyncio
import struct
import time
from collections import Counter
from typing import Any, Final, cast

from bench.broker import Broker, UnableError
from bench.frames import request_frame
from bench.members import JOIN, SYNC, join_request
from ottla.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.protocol.messages.join_group import JoinGroupResponse
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from ottla.protocol.primitives import Message

HEARTBEAT: Final = 3
_FIRST_BEAT_SECONDS: Final = 0.01
_BODY: Final = 4  # a frame's body begins after the correlation id
_size_at = struct.Struct(">i").unpack_from

NONE, NOT_YET, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, REBALANCING, ID_REQUIRED = 0, (14, 15, 16), 22, 25, 27, 79


class Crowd:
    """So many members of one group."""

    def __init__(self, broker: Broker, group: str, size: int) -> None:
        self.group = group
        self.size = size
        self.generations: Counter[int] = Counter()
        self.stable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._broker = broker
        self._members: list[Member] = []

    async def connect(self) -> None:
        host, _, port = self._broker.bootstrap.rpartition(":")
        loop = asyncio.get_running_loop()
        for _ in range(self.size):
            member = Member(self)
            await loop.create_connection(lambda: member, host, int(port))  # noqa: B023  # called before the next one is
            self._members.append(member)

    async def until_stable(self, seconds_max: float) -> float:
        """Let everyone join at once; returns the seconds until all are stable."""
        started = time.perf_counter()
        for member in self._members:
            member.join()
        try:
            async with asyncio.timeout(seconds_max):
                await self.stable
        except TimeoutError:
            raise UnableError(f"{self.size} members were not stable after {seconds_max:.0f} s") from None
        elapsed = time.perf_counter() - started
        for member in self._members:
            member.stop_beating()
        return elapsed

    def close(self) -> None:
        for member in self._members:
            member.stop_beating()
            member.transport.abort()

    def moved(self, old: int | None, new: int | None) -> None:
        """A member's assignment is of another generation now (None: it has none)."""
        if old is not None:
            self.generations[old] -= 1
        if new is not None:
            self.generations[new] += 1
            if self.generations[new] == self.size and not self.stable.done():
                self.stable.set_result(None)


class Member(asyncio.Protocol):
    """One member; one request in flight at a time, as the protocol is."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._received = b""
        self._expects: type[Message] = JoinGroupResponse
        self._member_id = ""
        self._generation_id = -1
        self._holds: int | None = None
        self._beat: asyncio.TimerHandle | None = None
        self._beat_seconds = _FIRST_BEAT_SECONDS

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._crowd.stable.done():
            self._crowd.stable.set_exception(UnableError("the broker closed a member's connection"))

    def data_received(self, data: bytes) -> None:
        data = self._received + data if self._received else data
        if len(data) < 4 or len(data) < 4 + _size_at(data)[0]:
            self._received = data
            return
        self._received = b""
        frame = data[4:]
        if self._expects is JoinGroupResponse:
            self._joined(JoinGroupResponse.decode(frame, JOIN, _BODY))
        elif self._expects is SyncGroupResponse:
            self._synced(SyncGroupResponse.decode(frame, SYNC, _BODY).error_code)
        else:
            self._beaten(HeartbeatResponse.decode(frame, HEARTBEAT, _BODY).error_code)

    def join(self) -> None:
        self._hold(None)
        self._ask(join_request(self._crowd.group, self._member_id), JOIN, JoinGroupResponse)

    def stop_beating(self) -> None:
        if self._beat is not None:
            self._beat.cancel()

    def _joined(self, answer: Any) -> None:
        match answer.error_code:
            case 0:
                self._generation_id = answer.generation_id
                self._sync(answer.members if answer.leader == answer.member_id else [])
            case code if code == ID_REQUIRED:
                self._member_id = answer.member_id
                self.join()
            case code if code in NOT_YET:
                asyncio.get_running_loop().call_later(0.05, self.join)
            case code:
                self._recover(code)

    def _sync(self, members: list[Any]) -> None:
        assignment = SyncGroupRequest.SyncGroupRequestAssignment
        request = SyncGroupRequest(
            group_id=self._crowd.group,
            generation_id=self._generation_id,
            member_id=self._member_id,
            assignments=[assignment(member_id=member.member_id, assignment=b"\0" * 20) for member in members],
        )
        self._ask(request, SYNC, SyncGroupResponse)

    def _synced(self, error_code: int) -> None:
        if error_code != NONE:
            self._recover(error_code)
            return
        self._hold(self._generation_id)
        self._beat_seconds = _FIRST_BEAT_SECONDS
        self._beat_later()

    def _beaten(self, error_code: int) -> None:
        if error_code != NONE:
            self._recover(error_code)
            return
        self._beat_seconds *= 2
        self._beat_later()

    def _beat_later(self) -> None:
        if not self._crowd.stable.done():
            self._beat = asyncio.get_running_loop().call_later(self._beat_seconds, self._send_beat)

    def _send_beat(self) -> None:
        request = HeartbeatRequest(self._crowd.group, self._generation_id, self._member_id)
        self._ask(request, HEARTBEAT, HeartbeatResponse)

    def _recover(self, error_code: int) -> None:
        if error_code == UNKNOWN_MEMBER_ID:
            self._member_id = ""
        elif error_code not in (REBALANCING, ILLEGAL_GENERATION):
            if not self._crowd.stable.done():
                self._crowd.stable.set_exception(UnableError(f"a member was answered with error {error_code}"))
            return
        self.join()

    def _hold(self, generation_id: int | None) -> None:
        self._crowd.moved(self._holds, generation_id)
        self._holds = generation_id

    def _ask(self, request: Message, version: int, expects: type[Message]) -> None:
        self._expects = expects
        self.transport.write(request_frame(request, version))
