"""A Kafka of long ago, as far as `ottla transactions` looks: ApiVersions and Metadata, and few APIs listed.

One that is a little younger lists transactions too, with the answers it is given, one after the other.
"""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from ottla.protocol.messages.api_versions import ApiVersionsResponse
from ottla.protocol.messages.list_transactions import ListTransactionsResponse
from ottla.protocol.messages.metadata import MetadataResponse
from ottla.protocol.primitives import Message

_METADATA: Final = 3
_API_VERSIONS: Final = 18
_LIST_TRANSACTIONS: Final = 66
#: Kafka 2.0's, of these.
_VERSIONS: Final = {_METADATA: (0, 6), _API_VERSIONS: (0, 2), 22: (0, 1), 27: (0, 0)}


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, listed: Sequence[ListTransactionsResponse | None]) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.listed = list(listed)
        self.versions = _VERSIONS | ({_LIST_TRANSACTIONS: (0, 0)} if listed else {})


class _Connection(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        while size := self.rfile.read(4):
            frame = self.rfile.read(int.from_bytes(size))
            key, version = int.from_bytes(frame[:2]), int.from_bytes(frame[2:4])
            answer = self._answer(key)
            if answer is None:
                return
            tags = b"\0" if key == _LIST_TRANSACTIONS else b""
            body = frame[4:8] + tags + answer.encode(version)
            self.wfile.write(len(body).to_bytes(4) + body)

    def _answer(self, key: int) -> Message | None:
        """None: the connection is closed."""
        if key == _LIST_TRANSACTIONS:
            return self.server.listed.pop(0)
        if key != _METADATA:
            known = [ApiVersionsResponse.ApiVersion(key, *versions) for key, versions in self.server.versions.items()]
            return ApiVersionsResponse(0, known)
        host, port = self.connection.getsockname()
        partition = MetadataResponse.MetadataResponsePartition(0, 0, 1, 0, [1], [1])
        return MetadataResponse(
            brokers=[MetadataResponse.MetadataResponseBroker(1, host, port)],
            topics=[MetadataResponse.MetadataResponseTopic(0, "orders", partitions=[partition])],
        )


@contextmanager
def older_kafka(*listed: ListTransactionsResponse | None) -> Iterator[str]:
    """Its bootstrap address. `listed`: how it answers ListTransactions, None by closing the connection."""
    with _Server(listed) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            serving.join()
