"""Which resource a client means; and those that belong to no broker: topics, groups, metrics subscriptions.

    resource = find_resource(ResourceType.TOPIC, "orders", node)

Which code refuses what differs from resource to resource, for no better reason than Kafka's history.
Kafka: ConfigHelper, ConfigAdminManager, ControllerConfigurationValidator, ConfigurationControlManager.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ottla.broker.configs.broker_resources import ClusterResource, LoggerResource, NodeResource
from ottla.broker.configs.entries import ConfigEntry
from ottla.broker.configs.group_configs import (
    CLIENT_METRICS_SETTINGS,
    GROUP_SETTINGS,
    check_client_metrics_configs,
    check_group_configs,
    describe_client_metrics,
    describe_group,
)
from ottla.broker.configs.resource import ConfigResource, ResourceType
from ottla.broker.configs.topic_configs import describe_topic
from ottla.cluster.refused import Refused
from ottla.cluster.topic_configs import check_topic_configs
from ottla.cluster.topic_names import check_name
from ottla.log.config import LOG_SETTINGS
from ottla.protocol.errors import ErrorCode
from ottla.settings.setting import Setting

if TYPE_CHECKING:
    from ottla.broker.node.broker_node import BrokerNode


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
