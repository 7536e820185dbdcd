"""What has configs that clients may read and change: topics, brokers, their loggers, groups, metrics subscriptions.

    resource = find_resource(ResourceType.TOPIC, "orders", node)
    resource.describe()                    what DescribeConfigs shows
    resource.check({"retention.ms": "1"})  may it say this, and nothing else? Raises `Refused` if not
    resource.apply({"retention.ms": "1"})  from now on it says this

A resource says what was set for it, as text by name; what it does not say it has from somewhere else. Changing means
saying something else as a whole: the APIs work out what that would be, have it checked, and then applied.

Which code refuses what differs from resource to resource, for no better reason than Kafka's history.
Kafka: ConfigHelper, ConfigAdminManager, ControllerConfigurationValidator, ConfigurationControlManager.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Final, Protocol

from ottla.broker.configs.entries import ConfigEntry, find_synonyms
from ottla.broker.configs.group_configs import (
    CLIENT_METRICS_SETTINGS,
    GROUP_SETTINGS,
    check_client_metrics_configs,
    check_group_configs,
    describe_client_metrics,
    describe_group,
)
from ottla.broker.configs.topic_configs import describe_topic
from ottla.cluster.features import level_settings
from ottla.cluster.refused import Refused
from ottla.cluster.topic_configs import check_topic_configs
from ottla.cluster.topic_names import check_name
from ottla.log.config import LOG_SETTINGS
from ottla.protocol.errors import ErrorCode
from ottla.settings.setting import PER_BROKER, READ_ONLY, Setting
from ottla.settings.settings import CLUSTER, ConfigError, ConfigSource, parse_value
from ottla.settings.table import all_settings, find_setting
from ottla.settings.values import format_value

if TYPE_CHECKING:
    from ottla.broker.node import BrokerNode


class ResourceType(IntEnum):
    """The numbers of resources with configs on the wire."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Operation(IntEnum):
    """What to do with one config. Kafka: AlterConfigOp.OpType."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


#: What Java reads as an int, more or less; Python would read more, and take its time over it.
_NODE_ID: Final = re.compile(r"[+-]?[0-9]{1,10}")

RESOURCE_TYPES: Final = frozenset(ResourceType)
_OPERATIONS: Final = frozenset(Operation)


class ConfigResource(Protocol):
    """One thing that has configs."""

    def describe(self) -> list[ConfigEntry]:
        """Its configs, by name. Raises `Refused`."""

    def setting(self, name: str) -> Setting | None:
        """The type of one of its configs; None if it has none of this name, or takes any."""

    @property
    def said(self) -> Mapping[str, str]:
        """What it says now."""

    def check_operation(self, name: str, operation: int) -> None:
        """May this be asked for, before anything is changed? Raises `Refused`."""

    def check(self, texts: Mapping[str, str]) -> None:
        """Raise `Refused` if it can't say this."""

    def apply(self, texts: Mapping[str, str]) -> None:
        """Say this from now on. Raises `Refused` if it can't be kept."""


def find_resource(resource_type: int, name: str, node: BrokerNode) -> ConfigResource:
    """The resource a client means when it talks to `node`, whether there is one or not. Raises `Refused`."""
    match resource_type:
        case ResourceType.TOPIC:
            return TopicResource(name, node)
        case ResourceType.BROKER:
            return ClusterResource(node) if name == "" else NodeResource(name, node)
        case ResourceType.BROKER_LOGGER:
            return LoggerResource(name, node)
        case ResourceType.CLIENT_METRICS:
            return ClientMetricsResource(name, node)
        case ResourceType.GROUP:
            return GroupResource(name, node)
    raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource_type}")


class TopicResource:
    """A topic's configs."""

    def __init__(self, name: str, node: BrokerNode) -> None:
        self._name = name
        self._node = node
        self._topic = node.cluster.topics.get(name)

    def describe(self) -> list[ConfigEntry]:
        check_name(self._name)
        if self._topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
        return describe_topic(self._topic.configs, self._node.settings, self._node.setting_layers)

    def setting(self, name: str) -> Setting | None:
        return LOG_SETTINGS.get(name)

    @property
    def said(self) -> Mapping[str, str]:
        return {} if self._topic is None else self._topic.configs

    def check_operation(self, name: str, operation: int) -> None:
        """Kafka fails on what is no operation, but only when it gets there."""

    def check(self, texts: Mapping[str, str]) -> None:
        if not self._name:
            raise Refused(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        check_name(self._name)
        check_topic_configs(texts)
        if self._topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{self._name}' does not exist.")

    def apply(self, texts: Mapping[str, str]) -> None:
        assert self._topic is not None
        self._topic.change_configs(texts)


class NodeResource:
    """The settings of one broker. Only the broker itself is asked for them."""

    def __init__(self, name: str, node: BrokerNode) -> None:
        self._node = node
        _check_node_id(name, node)

    def describe(self) -> list[ConfigEntry]:
        layers = self._node.setting_layers
        own = self._node.own_settings
        settings = self._node.settings
        known = all_settings()
        shown = {name for name, setting in known.items() if not setting.is_internal}
        shown.update(self.said, self._node.cluster.settings.layer(CLUSTER))
        shown.update(self._node.cluster.settings.given_texts, self._node.cluster.settings.unknown)
        entries = []
        for name in sorted(shown):
            setting = known.get(name)
            entry = _broker_entry(name, setting)
            entry.synonyms = find_synonyms(name, layers, is_sensitive=entry.is_sensitive)
            entry.source = entry.synonyms[0].source if entry.synonyms else ConfigSource.DEFAULT
            if not entry.is_sensitive:
                entry.value = own[name] if name in own else format_value(settings[name])
            entries.append(entry)
        return entries

    def setting(self, name: str) -> Setting | None:
        return find_setting(name)

    @property
    def said(self) -> Mapping[str, str]:
        return self._node.cluster.settings.layer(str(self._node.node_id))

    def check_operation(self, name: str, operation: int) -> None:
        _check_is_operation(operation)

    def check(self, texts: Mapping[str, str]) -> None:
        _check_broker_configs(texts)
        if "min.insync.replicas" in texts:
            raise Refused(
                ErrorCode.INVALID_CONFIG, "Broker-level min.insync.replicas cannot be altered while ELR is enabled."
            )

    def apply(self, texts: Mapping[str, str]) -> None:
        self._node.cluster.change_settings(str(self._node.node_id), texts)


class ClusterResource:
    """The settings that all brokers have where they say nothing themselves.

    The levels of features are kept beside them; who changes configs neither sees nor changes those.
    """

    def __init__(self, node: BrokerNode) -> None:
        self._cluster = node.cluster
        self._settings = node.cluster.settings

    def describe(self) -> list[ConfigEntry]:
        layers = [(ConfigSource.DYNAMIC_DEFAULT_BROKER, self._settings.layer(CLUSTER).get)]
        entries = []
        for name, text in sorted(self.said.items()):
            entry = _broker_entry(name, find_setting(name))
            entry.source = ConfigSource.DYNAMIC_DEFAULT_BROKER
            entry.synonyms = find_synonyms(name, layers, is_sensitive=entry.is_sensitive)
            entry.value = None if entry.is_sensitive else text
            entries.append(entry)
        return entries

    def setting(self, name: str) -> Setting | None:
        return find_setting(name)

    @property
    def said(self) -> Mapping[str, str]:
        return {name: text for name, text in self._settings.layer(CLUSTER).items() if name not in level_settings()}

    def check_operation(self, name: str, operation: int) -> None:
        _check_is_operation(operation)

    def check(self, texts: Mapping[str, str]) -> None:
        _check_broker_configs(texts)
        per_broker = [name for name in texts if _is(name, PER_BROKER)]
        if per_broker:
            raise _not_dynamic(
                "Cannot update these configs at default cluster level, broker id must be specified", per_broker
            )
        if "min.insync.replicas" not in texts:
            raise Refused(
                ErrorCode.INVALID_CONFIG, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
            )

    def apply(self, texts: Mapping[str, str]) -> None:
        layer = self._settings.layer(CLUSTER)
        levels = {name: layer[name] for name in level_settings() & layer.keys()}
        self._cluster.change_settings(CLUSTER, {**texts, **levels})


class LoggerResource:
    """The levels of a broker's loggers. There are none that clients could set; see --log-level."""

    said: Mapping[str, str] = {}

    def __init__(self, name: str, node: BrokerNode) -> None:
        if not name:
            raise Refused(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
        _check_node_id(name, node)

    def describe(self) -> list[ConfigEntry]:
        return []

    def setting(self, name: str) -> Setting | None:
        return None

    def check_operation(self, name: str, operation: int) -> None:
        match operation:
            case Operation.SET | Operation.DELETE:
                raise Refused(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
            case Operation.APPEND | Operation.SUBTRACT:
                raise Refused(ErrorCode.INVALID_REQUEST, "A logger's level is no list.")
        _check_is_operation(operation)

    def check(self, texts: Mapping[str, str]) -> None:
        """No operation gets here."""

    def apply(self, texts: Mapping[str, str]) -> None:
        """There is nothing it could have been asked to say."""


class GroupResource:
    """What is set for a group, whether there is such a group or not."""

    def __init__(self, name: str, node: BrokerNode) -> None:
        self._name = name
        self._node = node

    def describe(self) -> list[ConfigEntry]:
        if not self._name:
            raise Refused(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        return describe_group(self.said, self._node.settings, self._node.setting_layers)

    def setting(self, name: str) -> Setting | None:
        return GROUP_SETTINGS.get(name)

    @property
    def said(self) -> Mapping[str, str]:
        return self._node.cluster.group_configs.get(self._name, {})

    def check_operation(self, name: str, operation: int) -> None:
        """As topics have it."""

    def check(self, texts: Mapping[str, str]) -> None:
        if not self._name:
            raise Refused(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
        check_group_configs(texts, self._node.settings)

    def apply(self, texts: Mapping[str, str]) -> None:
        cluster = self._node.cluster
        if cluster.store is not None:
            cluster.store.keep_group_configs(self._name, texts)
        _keep(cluster.group_configs, self._name, texts)


class ClientMetricsResource:
    """A subscription to clients' metrics."""

    def __init__(self, name: str, node: BrokerNode) -> None:
        self._name = name
        self._configs = node.cluster.client_metrics_configs
        self._store = node.cluster.store

    def describe(self) -> list[ConfigEntry]:
        if not self._name:
            raise Refused(ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty")
        return describe_client_metrics(self.said)

    def setting(self, name: str) -> Setting | None:
        return CLIENT_METRICS_SETTINGS.get(name)

    @property
    def said(self) -> Mapping[str, str]:
        return self._configs.get(self._name, {})

    def check_operation(self, name: str, operation: int) -> None:
        """As topics have it."""

    def check(self, texts: Mapping[str, str]) -> None:
        if not self._name:
            raise Refused(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
        check_client_metrics_configs(texts)

    def apply(self, texts: Mapping[str, str]) -> None:
        if self._store is not None:
            self._store.keep_client_metrics_configs(self._name, texts)
        _keep(self._configs, self._name, texts)


def _keep(said: dict[str, dict[str, str]], name: str, texts: Mapping[str, str]) -> None:
    """Who says nothing any more is forgotten."""
    if texts:
        said[name] = dict(texts)
    else:
        said.pop(name, None)


def _check_is_operation(operation: int) -> None:
    if operation not in _OPERATIONS:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown operations type {operation}")


def _check_node_id(name: str, node: BrokerNode) -> None:
    if not _NODE_ID.fullmatch(name):
        raise Refused(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    if int(name) != node.node_id:
        text = f"Unexpected broker id, expected {node.node_id}, but received {name}"
        raise Refused(ErrorCode.INVALID_REQUEST, text)


def _broker_entry(name: str, setting: Setting | None) -> ConfigEntry:
    """What is so wherever the setting is shown. Of one that nobody knows the value is kept back: it may be a secret."""
    if setting is None:
        return ConfigEntry(name, None, ConfigSource.DEFAULT, is_read_only=True, is_sensitive=True)
    return ConfigEntry(
        name,
        None,
        ConfigSource.DEFAULT,
        setting.kind,
        is_read_only=setting.update == READ_ONLY,
        is_sensitive=setting.kind == "password",
        documentation=setting.meaning,
    )


def _check_broker_configs(texts: Mapping[str, str]) -> None:
    fixed = [name for name in texts if _is(name, READ_ONLY)]
    if fixed:
        raise _not_dynamic("Cannot update these configs dynamically", fixed)
    security = [name for name in texts if name.startswith("ssl.") and find_setting(name) is not None]
    if security:
        raise _not_dynamic("These security configs can be updated only per listener", security)
    for name, text in texts.items():
        setting = find_setting(name)
        if setting is not None:
            try:
                parse_value(setting, text)
            except ConfigError as error:
                raise Refused(ErrorCode.INVALID_REQUEST, error.for_client) from None


def _is(name: str, update: str) -> bool:
    setting = find_setting(name)
    return setting is not None and setting.update == update


def _not_dynamic(text: str, names: list[str]) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, f"{text}: [{', '.join(names)}]")
