"""A Kafka of long ago, as far as `ottla transactions` looks: ApiVersions and Metadata, and few APIs listed."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ottla.protocol.messages.api_versions import ApiVersionsResponse
from ottla.protocol.messages.metadata import MetadataResponse
from ottla.protocol.primitives import Message

#: Kafka 2.0's, of these.
_VERSIONS: Final = {3: (0, 6), 18: (0, 2), 22: (0, 1), 27: (0, 0)}
_METADATA: Final = 3


class _Connection(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while size := self.rfile.read(4):
            frame = self.rfile.read(int.from_bytes(size))
            key, version = int.from_bytes(frame[:2]), int.from_bytes(frame[2:4])
            answer = frame[4:8] + self._answer(key).encode(version)
            self.wfile.write(len(answer).to_bytes(4) + answer)

    def _answer(self, key: int) -> Message:
        if key != _METADATA:
            return ApiVersionsResponse(
                0, [ApiVersionsResponse.ApiVersion(key, *known) for key, known in _VERSIONS.items()]
            )
        host, port = self.connection.getsockname()
        partition = MetadataResponse.MetadataResponsePartition(0, 0, 1, 0, [1], [1])
        return MetadataResponse(
            brokers=[MetadataResponse.MetadataResponseBroker(1, host, port)],
            topics=[MetadataResponse.MetadataResponseTopic(0, "orders", partitions=[partition])],
        )


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


@contextmanager
def older_kafka() -> Iterator[str]:
    """Its bootstrap address."""
    with _Server(("127.0.0.1", 0), _Connection) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            serving.join()
