"""What is asked of a broker before the first script: what it claims to serve, how many nodes it has, its settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ottla.conformance.claims import Claims
from ottla.conformance.client import API, Client
from ottla.conformance.scene import PATIENCE_SECONDS
from ottla.conformance.script import Script
from ottla.conformance.settings import NEEDED
from ottla.conformance.wire import ConnectionClosedError, SilenceError
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.describe_configs import DescribeConfigsRequest
from ottla.protocol.messages.metadata import MetadataRequest

_BROKER: Final = 4


class NotKafkaError(Exception):
    """Whoever answers there does not speak Kafka's protocol, or is no broker of a cluster of one; the words say it."""


@dataclass(frozen=True, slots=True)
class Broker:
    """Who is asked. `settings` are those that the broker tells, or that the user has told of it."""

    bootstrap: str
    claims: Claims
    settings: Mapping[str, str]
    node_id: int
    #: How long an answer is waited for.
    patience_seconds: float = PATIENCE_SECONDS

    def lacks(self, script: Script) -> str | None:
        """Why the script can't be played against it, or None."""
        for name in script.needs:
            wanted, value = NEEDED[name], self.settings.get(name)
            if value is None:
                return f"it needs {name}={wanted}, and the broker does not tell its own"
            if value != wanted:
                return f"it needs {name}={wanted}, and the broker has {value or 'an empty one'}"
        return None


def survey(bootstrap: str, told: Mapping[str, str], *, patience_seconds: float = PATIENCE_SECONDS) -> Broker:
    """Ask; `told` counts instead of what the broker says. Raises `OSError`, `NotKafkaError`."""
    try:
        with Client(bootstrap, client_id="conformance", timeout_seconds=patience_seconds) as client:
            answer = client.ask(ApiVersionsRequest(), 0)
            claims = Claims({row.api_key: (row.min_version, row.max_version) for row in answer.api_keys})
            node_id = _only_node(client, claims)
            settings = {"node.id": str(node_id), **_settings(client, claims, node_id)}
    except (ConnectionClosedError, SilenceError, ValueError, EOFError) as error:
        raise NotKafkaError(f"{bootstrap} does not answer ApiVersions and Metadata as a Kafka broker does") from error
    return Broker(bootstrap, claims, settings | dict(told), node_id, patience_seconds)


def _only_node(client: Client, claims: Claims) -> int:
    version = claims.version(API["Metadata"], 1)
    if version is None:
        raise NotKafkaError("the broker does not serve Metadata v0 or v1")
    brokers = client.ask(MetadataRequest(topics=[]), version).brokers
    if len(brokers) != 1:
        raise NotKafkaError(f"the cluster has {len(brokers)} brokers; the answers are those of a cluster of one")
    node_id: int = brokers[0].node_id
    return node_id


def _settings(client: Client, claims: Claims, node_id: int) -> dict[str, str]:
    """Those of the broker that it tells."""
    version = claims.version(API["DescribeConfigs"], 1)
    if version is None:
        return {}
    asked = DescribeConfigsRequest.DescribeConfigsResource(_BROKER, str(node_id), None)
    (result,) = client.ask(DescribeConfigsRequest([asked]), version).results
    return {config.name: config.value for config in result.configs if config.value is not None}


def parse_told(words: Iterable[str]) -> dict[str, str]:
    """NAME=VALUE of settings. Raises `ValueError`."""
    told = {}
    for word in words:
        name, is_there, value = word.partition("=")
        if not is_there or name not in NEEDED:
            raise ValueError(f"--assume is NAME=VALUE, not {word}; the names are {', '.join(NEEDED)}")
        told[name] = value
    return told
