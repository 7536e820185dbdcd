"""The broker's settings: Kafka's own names, units and defaults, checked when they are given.

    settings = Settings.read(file_text, ["group.initial.rebalance.delay.ms=0"])
    settings["group.initial.rebalance.delay.ms"]     # 0

They come in layers, the first that has a value winning:

    a node's own, changed while it runs  ▶  the cluster's, changed while it runs  ▶  given at the start  ▶  default

What is given at the start comes from a properties file, from the environment if that is read, and from `--set
name=value`; the later ones win. An unknown name is no error, because a server.properties written for Kafka must work:
it goes to `unknown` and the broker warns. The two changeable layers are written by the APIs that alter
configs; they hold text that is checked before.

Kafka: KafkaConfig, DynamicBrokerConfig.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Any, Final, TypeAlias

from ottla.settings.setting import Setting
from ottla.settings.table import SETTINGS, find_setting
from ottla.settings.values import ConfigError, format_value, parse_value

__all__ = [
    "CLUSTER",
    "ConfigError",
    "ConfigSource",
    "Layer",
    "NodeSettings",
    "Settings",
    "parse_properties",
    "parse_value",
]

#: The name of the layer that holds for all nodes; a node's own layer is named by its id.
CLUSTER: Final = ""
#: Kafka's controller copies this setting into the cluster's layer at its first start, and refuses to remove it.
_IN_CLUSTER_LAYER_FROM_START: Final = "min.insync.replicas"


class ConfigSource(IntEnum):
    """Where a value comes from, as DescribeConfigs and CreateTopics tell it."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


#: Where values come from, and the value it has for a name, as text; None if it has none.
Layer: TypeAlias = tuple[ConfigSource, Callable[[str], str | None]]


class Settings:
    """All settings of a broker. `[]` gives the value for the cluster, parsed."""

    def __init__(self, given: dict[str, str] | None = None) -> None:
        #: What was given at the start: parsed, and as it was written.
        self.given: dict[str, Any] = {}
        self.given_texts: dict[str, str] = {}
        self.unknown: dict[str, str] = {}
        self._changed_texts: dict[str, dict[str, str]] = {}
        self._changed: dict[str, dict[str, Any]] = {CLUSTER: {}}
        for name, text in (given or {}).items():
            self.set(name, text)

    @classmethod
    def read(
        cls, properties: str = "", overrides: Iterable[str] = (), environment: Mapping[str, str] | None = None
    ) -> Settings:
        """Settings from the text of a properties file, from the environment, by name, and from `name=value` words.

        The later ones win. Raises `ConfigError`.
        """
        given = {**dict(parse_properties(properties)), **(environment or {})}
        for word in overrides:
            name, equals, value = word.partition("=")
            if not equals or not name.strip():
                raise ConfigError(f"--set {word!r} is not name=value; write for example --set num.partitions=3")
            given[name.strip()] = value.strip()
        return cls(given)

    def set(self, name: str, text: str) -> None:
        """Take a value as text, at the start. Raises `ConfigError` when it doesn't fit."""
        setting = find_setting(name)
        if setting is None:
            self.unknown[name] = text
        else:
            self.given[name] = parse_value(setting, text)
            self.given_texts[name] = text

    @property
    def without_effect(self) -> list[str]:
        """Kafka's settings that were given and have no effect here."""
        return [name for name in self.given if name not in SETTINGS]

    @property
    def first_node_id(self) -> int:
        """The id of the first node; further nodes count up from it."""
        node_id: int | None = self["node.id"]
        broker_id: int = self["broker.id"]
        if node_id is not None:
            return node_id
        return broker_id if broker_id >= 0 else 1

    def __getitem__(self, name: str) -> Any:
        """The value that holds for the cluster, parsed. Raises KeyError for a name that is not in the tables."""
        changed = self._changed[CLUSTER]
        if name in changed:
            return changed[name]
        return self.given[name] if name in self.given else _known(name).default

    def of_node(self, node_id: int) -> NodeSettings:
        """The settings that hold for one node."""
        return NodeSettings(self, self._changed.setdefault(str(node_id), {}))

    def layer(self, name: str) -> dict[str, str]:
        """A layer that can change while the broker runs, as text: `CLUSTER`, or a node id."""
        texts = dict(self._changed_texts.get(name, {}))
        if name == CLUSTER:
            at_start = self.given_texts.get(_IN_CLUSTER_LAYER_FROM_START)
            texts.setdefault(
                _IN_CLUSTER_LAYER_FROM_START, at_start or str(SETTINGS[_IN_CLUSTER_LAYER_FROM_START].default)
            )
        return texts

    def has_changed(self, layer: str) -> bool:
        """Whether a layer says anything."""
        return bool(self._changed_texts.get(layer))

    def layers(self, node_id: int, given_to_node: Mapping[str, str]) -> list[Layer]:
        """All layers of one node, the strongest first. `given_to_node`: what only this node was started with."""
        return [
            (ConfigSource.DYNAMIC_BROKER, self.layer(str(node_id)).get),
            (ConfigSource.DYNAMIC_DEFAULT_BROKER, self.layer(CLUSTER).get),
            (ConfigSource.STATIC_BROKER, {**self.given_texts, **self.unknown, **given_to_node}.get),
            (ConfigSource.DEFAULT, _default_text),
        ]

    def change(self, name: str, texts: Mapping[str, str]) -> None:
        """Replace a layer while the broker runs. Values must have been checked; unknown names are kept and shown."""
        self._changed_texts[name] = dict(texts)
        values = self._changed.setdefault(name, {})
        values.clear()
        for setting_name, text in texts.items():
            setting = find_setting(setting_name)
            if setting is not None:
                values[setting_name] = parse_value(setting, text)


class NodeSettings:
    """The settings of one node, read by `[]`."""

    __slots__ = ("_changed", "_settings")

    def __init__(self, settings: Settings, changed: Mapping[str, Any]) -> None:
        self._settings = settings
        self._changed = changed

    def __getitem__(self, name: str) -> Any:
        """The value that holds for the node, parsed. Raises KeyError for a name that is not in the tables."""
        return self._changed[name] if name in self._changed else self._settings[name]


def _default_text(name: str) -> str | None:
    setting = find_setting(name)
    return None if setting is None else format_value(setting.default)


def _known(name: str) -> Setting:
    setting = find_setting(name)
    if setting is None:
        raise KeyError(name)
    return setting


def parse_properties(text: str) -> Iterator[tuple[str, str]]:
    """The entries of a Java properties file: `name=value`, `name: value` or `name value`, # and ! comments, and lines
    that go on after a backslash."""
    lines = iter(text.splitlines())
    for line in lines:
        entry = line.strip()
        if not entry or entry[0] in "#!":
            continue
        while entry.endswith("\\"):
            entry = entry[:-1] + next(lines, "").strip()
        end = min((i for i in (entry.find(c) for c in "=: \t") if i >= 0), default=len(entry))
        yield entry[:end], entry[end:].lstrip("=: \t")
