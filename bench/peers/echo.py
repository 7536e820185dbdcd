"""The limit: a bare uvloop server that finds the frames in what it reads and answers each with bytes it was taught.

A broker in Python cannot be quicker than that. The first frame of a connection holds the answer to give to all others.
"""

from __future__ import annotations

import asyncio
import struct
import sys
from contextlib import AbstractContextManager
from typing import cast

import uvloop

from bench.broker import Broker, process

_size_at = struct.Struct(">i").unpack_from


class Echo:
    name = "echo"

    def missing(self) -> str | None:
        return None

    def prepare(self) -> None:
        pass

    def start(self) -> AbstractContextManager[Broker]:
        return process(self.name, [sys.executable, "-m", "bench.peers.echo"])


class EchoProtocol(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.left = b""
        self.answer: bytes | None = None

    def data_received(self, data: bytes) -> None:
        data = self.left + data if self.left else data
        position, end, frames = 0, len(data), 0
        while position + 4 <= end:
            after = position + 4 + _size_at(data, position)[0]
            if after > end:
                break
            if self.answer is None:
                self.answer = data[position + 4 : after]
            else:
                frames += 1
            position = after
        self.left = data[position:]
        if frames and self.answer is not None:
            self.transport.write(self.answer * frames)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(EchoProtocol, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    print(f"echo ready bootstrap={host}:{port}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve())
