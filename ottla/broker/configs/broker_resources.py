"""The configs of brokers: of one node, of all of them as their default, and of a node's loggers.

Kafka: ConfigAdminManager, DynamicBrokerConfig, ConfigurationControlManager.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ottla.broker.configs.entries import ConfigEntry, find_synonyms
from ottla.broker.configs.resource import Operation, check_is_operation
from ottla.cluster.features import level_settings
from ottla.cluster.refused import Refused
from ottla.protocol.errors import ErrorCode
from ottla.settings.setting import PER_BROKER, READ_ONLY, Setting
from ottla.settings.settings import CLUSTER, ConfigError, ConfigSource, parse_value
from ottla.settings.table import all_settings, find_setting
from ottla.settings.values import format_value

if TYPE_CHECKING:
    from ottla.broker.node.broker_node import BrokerNode

#: What Java reads as an int, more or less; Python would read more, and take its time over it.
_NODE_ID: Final = re.compile(r"[+-]?[0-9]{1,10}")


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
        check_is_operation(operation)

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
        check_is_operation(operation)

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
        check_is_operation(operation)

    def check(self, texts: Mapping[str, str]) -> None:
        """No operation gets here."""

    def apply(self, texts: Mapping[str, str]) -> None:
        """There is nothing it could have been asked to say."""


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
