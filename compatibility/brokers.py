"""Ottla and Kafka as the stories meet them: a listener of each kind, as far as the broker serves it.

What Ottla does not serve it says itself, when it is asked for it; the client then tries all the same, at the listener
that there is.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from compatibility.certificate import Certificate
from ottla.protocol.generate.modules import KAFKA_VERSION
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from tests.support.client import Client
from tests.support.kafka_process import format_storage, missing_tools, running, wait_until_serving
from tests.support.ottla_process import ottla
from tests.support.ports import free_ports

#: What a story may need of a broker: a listener with this protocol, or groups of the new kind.
PLAINTEXT: Final = "PLAINTEXT"
SSL: Final = "SSL"
SASL: Final = "SASL_PLAINTEXT"
NEW_GROUPS: Final = "new groups"

_USER: Final = "ana"
_PASSWORD: Final = "ana's secret"

#: Groups wait for nobody, and there is little to set up.
_SETTINGS: Final = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "5"}
#: Members of a new group hear of a change with their next heartbeat; those are 5 s apart if nothing else is said.
_OFTEN: Final = {
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "200",
}
_CONSUMER_GROUP_HEARTBEAT: Final = 68
_REFUSAL_SECONDS_MAX: Final = 20.0


@dataclass(frozen=True)
class CardBroker:
    """A running broker."""

    name: str
    #: The address of each listener that it serves.
    listeners: Mapping[str, str]
    certificate: Certificate
    #: In words, why it does not serve the rest.
    refusals: Mapping[str, str] = field(default_factory=dict)
    #: Its release, if that says more than our commit.
    release: str = ""

    def security(self, needs: str) -> str:
        """What a client's program has to know beside the address, as JSON."""
        if needs == SSL:
            return json.dumps({"ca": str(self.certificate.trusted)})
        if needs == SASL:
            return json.dumps({"user": _USER, "password": _PASSWORD})
        return "{}"


class Broker(Protocol):
    """One of the two."""

    name: str

    def missing(self) -> str | None:
        """Why it cannot run here, in one line, or None."""

    def start(self, certificate: Certificate) -> AbstractContextManager[CardBroker]:
        """A fresh one, for the length of the `with`."""


class Ottla:
    """`ottla serve`, as installed here."""

    name = "ottla"

    def missing(self) -> str | None:
        return None

    @contextmanager
    def start(self, certificate: Certificate) -> Iterator[CardBroker]:
        refusals = {protocol: _refusal_to_listen(protocol) for protocol in (SSL, SASL)}
        with ottla(_SETTINGS, "--log-level", "error") as broker:
            refusals |= _without_new_groups(broker.bootstrap)
            yield CardBroker(self.name, {PLAINTEXT: broker.bootstrap}, certificate, refusals)


class Kafka:
    """Apache Kafka of one node, with three listeners."""

    name = "kafka"

    def missing(self) -> str | None:
        return missing_tools()

    @contextmanager
    def start(self, certificate: Certificate) -> Iterator[CardBroker]:
        names = (PLAINTEXT, SSL, SASL, "CONTROLLER")
        addresses = {name: f"127.0.0.1:{port}" for name, port in zip(names, free_ports(len(names)), strict=True)}
        settings = {
            "listeners": ",".join(f"{name}://{address}" for name, address in addresses.items()),
            "listener.security.protocol.map": f"{PLAINTEXT}:{PLAINTEXT},{SSL}:{SSL},{SASL}:{SASL},CONTROLLER:PLAINTEXT",
            "controller.quorum.bootstrap.servers": addresses.pop("CONTROLLER"),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(certificate.keystore),
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain."
            f'PlainLoginModule required user_{_USER}="{_PASSWORD}";',
            **_SETTINGS,
            **_OFTEN,
        }
        with tempfile.TemporaryDirectory(prefix="ottla-card-") as directory:
            properties, _ = format_storage(Path(directory), settings)
            with running(properties, addresses[PLAINTEXT]) as broker:
                wait_until_serving(broker)
                yield CardBroker(self.name, addresses, certificate, release=KAFKA_VERSION)


def _refusal_to_listen(protocol: str) -> str:
    """What Ottla says when it is to have a listener with this protocol."""
    program = Path(sys.executable).with_name("ottla")
    done = subprocess.run(
        [program, "serve", "--listen", f"{protocol}://127.0.0.1:0"],
        capture_output=True, text=True, check=False, timeout=_REFUSAL_SECONDS_MAX,
    )  # fmt: skip
    assert done.returncode != 0, f"Ottla serves {protocol}: give it a listener here"
    return done.stderr.strip().removeprefix("ottla: ").partition("; ")[0].rpartition(": ")[2]


def _without_new_groups(bootstrap: str) -> dict[str, str]:
    """Whether there are groups of the new kind, by the requests that the broker says it knows."""
    with Client(bootstrap) as client:
        known = {entry.api_key for entry in client.ask(ApiVersionsRequest(), 0).api_keys}
    if _CONSUMER_GROUP_HEARTBEAT in known:
        return {}
    return {NEW_GROUPS: "ApiVersions does not list ConsumerGroupHeartbeat"}
