"""Brokers whose answers are compared with Kafka's, each set up for the scripts as far as it can be."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Final, Protocol

from bench.broker import process
from bench.peers.kfake import SOURCE, Kfake
from compatibility import mock_cluster
from ottla.conformance.settings import SETTINGS
from ottla.protocol.generate.modules import KAFKA_VERSION
from tests.support.kafka_process import BROKER_JARS, Jars, kafka, missing_tools
from tests.support.ottla_process import ottla

#: The release before the one whose answers are recorded.
EARLIER: Final = "4.3.1"

_NO_AUTHORIZER: Final = {"authorizer.class.name": ""}


class Peer(Protocol):
    """One of them. `told` are settings that it has, and does not tell of."""

    name: str
    told: Mapping[str, str]

    def missing(self) -> str | None:
        """Why it cannot run here, in one line, or None."""

    def version(self) -> str:
        """Of what is run."""

    def start(self) -> AbstractContextManager[str]:
        """A fresh one, for the length of the `with`; gives its address."""


class OttlaPeer:
    name = "Ottla"
    told: Mapping[str, str] = {}

    def missing(self) -> str | None:
        return None

    def version(self) -> str:
        return "this commit"

    @contextmanager
    def start(self) -> Iterator[str]:
        with ottla({"node.id": "1", **SETTINGS}, "--log-level", "error") as broker:
            yield broker.bootstrap


class KafkaPeer:
    """A release of Apache Kafka."""

    name = "Apache Kafka"
    told: Mapping[str, str] = {}

    def __init__(self, version: str) -> None:
        self._version = version
        self._jars = Jars(BROKER_JARS.artifact, version, BROKER_JARS.excluded)

    def missing(self) -> str | None:
        return missing_tools(self._jars)

    def version(self) -> str:
        return self._version

    @contextmanager
    def start(self) -> Iterator[str]:
        with kafka(SETTINGS, jars=self._jars) as broker:
            yield broker.bootstrap


class KfakePeer:
    """The fake cluster of franz-go."""

    name = "kfake"
    told: Mapping[str, str] = _NO_AUTHORIZER

    def __init__(self) -> None:
        self._kfake = Kfake(SETTINGS)
        self._is_prepared = False

    def missing(self) -> str | None:
        return self._kfake.missing()

    def version(self) -> str:
        pinned = re.search(r"pkg/kfake (\S+)", (SOURCE / "go.mod").read_text())
        return pinned[1] if pinned else "unknown"

    @contextmanager
    def start(self) -> Iterator[str]:
        if not self._is_prepared:
            self._kfake.prepare()
            self._is_prepared = True
        with self._kfake.start() as broker:
            yield broker.bootstrap


class MockPeer:
    """The mock cluster of librdkafka."""

    name = "librdkafka's mock"
    told: Mapping[str, str] = _NO_AUTHORIZER

    def missing(self) -> str | None:
        return None if mock_cluster.library() else "confluent-kafka is not installed, or brings no librdkafka"

    def version(self) -> str:
        return mock_cluster.version()

    @contextmanager
    def start(self) -> Iterator[str]:
        with process(self.name, [sys.executable, "-m", mock_cluster.__name__]) as broker:
            yield broker.bootstrap


PEERS: Final[tuple[Peer, ...]] = (
    KafkaPeer(KAFKA_VERSION),
    OttlaPeer(),
    KafkaPeer(EARLIER),
    KfakePeer(),
    MockPeer(),
)
