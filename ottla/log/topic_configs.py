"""What holds for a topic's logs: what the topic says itself, and what the broker's settings say where it is silent.

Kafka: LogConfig, KafkaConfig.extractLogConfigMap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ottla.log.config import BROKER_NAMES, LOG_SETTINGS, LogConfig, parse_log_configs
from ottla.settings.settings import NodeSettings, Settings

if TYPE_CHECKING:
    from ottla.settings.setting import Setting


def effective_values(texts: Mapping[str, str], settings: Settings | NodeSettings) -> dict[str, Any]:
    """Every config of a topic that says `texts`, parsed."""
    values = {setting.name: _broker_default(setting, settings) for setting in LOG_SETTINGS.values()}
    values.update(parse_log_configs(texts))
    return values


def log_config(texts: Mapping[str, str], settings: Settings | NodeSettings) -> LogConfig:
    """The same in the form that logs read."""
    return LogConfig.of(effective_values(texts, settings))


def _broker_default(setting: Setting, settings: Settings | NodeSettings) -> Any:
    for broker_name, factor in BROKER_NAMES.get(setting.name, ()):
        value = settings[broker_name]
        if value is not None:
            if factor != 1:
                value *= factor
            return max(value, -1) if setting.name == "retention.ms" else value  # in hours, too, -1 is for ever
    return setting.default
