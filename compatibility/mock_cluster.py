"""librdkafka's mock cluster of one broker, until SIGTERM: `python -m compatibility.mock_cluster`.

By the library's own functions, for a producer's `test.mock.num.brokers` can't be told that groups need not wait for
more members. The library is the one in confluent-kafka's wheel.
"""

from __future__ import annotations

import ctypes
import importlib.util
import signal
from pathlib import Path
from typing import Final

_PRODUCER: Final = 0
_MESSAGE_BYTES: Final = 512
#: With 0 its timer never goes off.
_DELAY_MS: Final = 1


def library() -> Path | None:
    """Where librdkafka is; None: confluent-kafka is not installed, or brings no library of its own."""
    found = importlib.util.find_spec("confluent_kafka")
    if found is None or found.origin is None:
        return None
    return next(iter(sorted(Path(found.origin).parents[1].glob("confluent_kafka.libs/librdkafka-*"))), None)


def version() -> str:
    """Of librdkafka."""
    librdkafka = ctypes.CDLL(str(library()))
    librdkafka.rd_kafka_version_str.restype = ctypes.c_char_p
    return str(librdkafka.rd_kafka_version_str().decode())


def serve() -> None:
    """Say where it is, and hold it."""
    librdkafka = ctypes.CDLL(str(library()))
    for name in ("rd_kafka_new", "rd_kafka_mock_cluster_new"):
        getattr(librdkafka, name).restype = ctypes.c_void_p
    librdkafka.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    message = ctypes.create_string_buffer(_MESSAGE_BYTES)
    client = librdkafka.rd_kafka_new(_PRODUCER, None, message, ctypes.c_size_t(_MESSAGE_BYTES))
    cluster = ctypes.c_void_p(librdkafka.rd_kafka_mock_cluster_new(ctypes.c_void_p(client), 1))
    librdkafka.rd_kafka_mock_group_initial_rebalance_delay_ms(cluster, ctypes.c_int32(_DELAY_MS))
    bootstrap = librdkafka.rd_kafka_mock_cluster_bootstraps(cluster).decode()
    print(f"mock ready bootstrap={bootstrap}", flush=True)
    signal.sigwait({signal.SIGTERM})


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    serve()
