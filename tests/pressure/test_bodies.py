"""Hostile bodies for every version of every API: an answer that fits, or a closed connection with a line that says why.

Whatever comes, nothing of the broker's own fails, others are served meanwhile, and who waits is answered in the end.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from random import Random, SystemRandom
from typing import Any, Final

import pytest

from ottla.broker.network.apis import SERVED, Lane
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from ottla.protocol.messages.join_group import JoinGroupResponse
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.primitives import DecodeError
from ottla.protocol.registry import Api, api
from ottla.purgatory import VirtualClock
from tests.pressure.random_requests import LONGEST_WAIT_MS, RandomRequests, damaged
from tests.pressure.stage import create_topic, is_served, join
from tests.support.client import Client
from tests.support.patience import PATIENCE_SECONDS
from tests.support.running_broker import RunningBroker
from tests.support.soak import IS_SOAK
from tests.support.wire import ConnectionClosedError

#: Kept because they once found something, or to have some; another one is drawn for each run.
SEEDS: Final = (
    *(range(1, 30) if IS_SOAK else ()),
    1_674_266_506,
    pytest.param(int(os.environ.get("OTTLA_FUZZ_SEED", SystemRandom().randrange(2**32))), id="drawn"),
)
FRAMES_PER_VERSION: Final = int(os.environ.get("OTTLA_FUZZ_FRAMES", "6"))
#: Requests that meet what others have left behind get more.
MORE: Final = {Lane.AT_ONCE: 1, Lane.GROUP: 2, Lane.MAY_WAIT: 4}
#: How many of the bodies are not as they should be.
DAMAGED: Final = 0.4
SERVED_VERSIONS: Final = [
    (api(served.key), version, FRAMES_PER_VERSION * MORE[served.lane])
    for served in SERVED.values()
    for version in range(served.version_first_served, served.version_last + 1)
]


class Attacker:
    """Sends one frame after the other, and opens a new connection when one is closed or has to wait."""

    def __init__(self, broker: RunningBroker) -> None:
        self._broker = broker
        self._client: Client | None = None
        self.parked: list[Client] = []
        self.endings: Counter[str] = Counter()
        self.answer: Any = None

    def send(self, kind: Api, version: int, body: bytes) -> None:
        """Send a body, and look how it ends."""
        client = self._client = self._client or Client(self._broker.bootstrap)
        is_answered = not _is_without_acks(kind, version, body)
        client.send_body(kind, version, body, answered=is_answered)
        if not is_answered:
            client.send(ApiVersionsRequest(), 0)  # whose answer says as much
        ending = self._ending(client)
        self.endings[ending] += 1
        if ending == "parked":
            self.parked.append(client)
        if ending == "closed":
            client.close()
        if ending != "answered":
            self._client = None

    def _ending(self, client: Client) -> str:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not client.connection.has_received:
            if self._broker.look(lambda: self._is_parked(client)):
                return "parked"
            assert time.monotonic() < deadline, "neither answered, nor closed, nor waiting for anything"
        try:
            self.answer = client.receive().message
        except ConnectionClosedError:
            return "closed"
        return "answered"

    def _is_parked(self, client: Client) -> bool:
        connection = self._broker.connection_of(client.connection.port)
        is_waiting = connection is not None and connection.is_waiting
        return is_waiting and self._broker.server.services.is_settled and not client.connection.has_received

    def hear_the_parked(self) -> None:
        """Whoever was left waiting has its answer now, or can't have one: a name that no answer can repeat."""
        for client in self.parked:
            try:
                client.receive()
            except ConnectionClosedError:
                self.endings["closed"] += 1

    def close(self) -> None:
        for client in [*self.parked, *([self._client] if self._client else [])]:
            client.close()


def _is_without_acks(kind: Api, version: int, body: bytes) -> bool:
    try:
        return kind.name == "Produce" and ProduceRequest.decode(body, version).acks == 0
    except DecodeError:
        return False


@pytest.mark.soak
@pytest.mark.parametrize("seed", SEEDS)
def test_any_body_is_answered_or_closes_its_connection(seed: int) -> None:
    """Readable nonsense and damaged frames; `OTTLA_FUZZ_SEED=<seed>` runs a failure again."""
    draw = Random(seed)
    with RunningBroker(clock=VirtualClock()) as broker, Client(broker.bootstrap) as bo:
        requests = RandomRequests(draw, topic="orders", group_id="readers")
        requests.member_ids.append(join(bo, "readers"))
        attacker = Attacker(broker)
        cases = draw.sample(SERVED_VERSIONS, len(SERVED_VERSIONS))
        for kind, version, frames in cases:
            bo.ask(DeleteTopicsRequest([], ["orders"], 1_000), 5)
            requests.topic_id = create_topic(bo, "orders")
            for _ in range(frames):
                body = requests.message(kind.request, version).encode(version)
                if draw.random() < DAMAGED:
                    body = damaged(draw, body)
                try:
                    attacker.send(kind, version, body)
                    assert not broker.failures
                    if isinstance(attacker.answer, JoinGroupResponse) and attacker.answer.member_id:
                        requests.member_ids.append(attacker.answer.member_id)
                except Exception as error:
                    raise AssertionError(f"seed {seed}: {kind.name} v{version} {body.hex()}") from error
            assert is_served(bo)
        broker.advance(2 * LONGEST_WAIT_MS)
        attacker.hear_the_parked()
        attacker.close()
        broker.wait_until("only Bo is left", lambda: len(broker.connections) == 1)
        assert attacker.endings.keys() == {"answered", "closed", "parked"}
        assert len(broker.refusals) == attacker.endings["closed"]
