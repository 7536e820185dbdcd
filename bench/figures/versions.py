"""ApiVersions v3 on one connection with 64 in flight: what a request costs whose answer is the same for everybody."""

from __future__ import annotations

from bench.broker import Broker
from bench.figures.figure import Figure, Row, Values
from bench.frames import answer_frame, received_frame, request_frame
from bench.load import Stream, run_load
from ottla.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.support.wire import Connection

VERSION = 3
REQUEST = request_frame(ApiVersionsRequest("bench", "1"), VERSION)
#: What the echo is taught: about as long as the answer of a broker.
EXAMPLE = ApiVersionsResponse(api_keys=[ApiVersionsResponse.ApiVersion(key, 0, 9) for key in range(60)])

VERSIONS = Row("ApiVersions/s, 1 connection × 64", goal="≥ 1.2 × mock, ≥ 3 × kfake")
VERSIONS_CPU = Row("… CPU µs per ApiVersions", digits=1, smaller_is_better=True)


def measure(broker: Broker, seconds: float) -> Values:
    answer = answer_frame(EXAMPLE, VERSION) if broker.is_echo else _ask(broker)
    load = run_load(broker, [Stream([REQUEST], answer)], in_flight=64, seconds=seconds)
    return {VERSIONS.title: load.requests_per_second, VERSIONS_CPU.title: load.cpu_us_per_request}


def _ask(broker: Broker) -> bytes:
    with Connection(broker.bootstrap) as connection:
        connection.send(REQUEST)
        return received_frame(connection.receive_frame())


FIGURE = Figure("versions", (VERSIONS, VERSIONS_CPU), measure)
