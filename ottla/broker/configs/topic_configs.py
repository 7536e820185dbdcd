"""A topic's configs as clients are shown them.

DescribeConfigs and the answer to CreateTopics differ: the first shows values as they are understood, the second repeats
them as they were written. `log.topic_configs` has what they come to.

Kafka: ConfigHelper.createTopicConfigEntry, KafkaConfigSchema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ottla.broker.configs.entries import ConfigEntry, Synonym, find_synonyms
from ottla.log.config import BROKER_NAMES, INTERNAL_SEGMENT_BYTES, LOG_SETTINGS
from ottla.log.topic_configs import effective_values
from ottla.settings.setting import NO_EFFECT
from ottla.settings.settings import ConfigSource, Layer, NodeSettings
from ottla.settings.table import find_setting
from ottla.settings.values import format_value

#: The configs of a topic that are shown whether it says anything or not.
SHOWN: Final = tuple(sorted(name for name in LOG_SETTINGS if name != INTERNAL_SEGMENT_BYTES))


def describe_topic(texts: Mapping[str, str], settings: NodeSettings, layers: list[Layer]) -> list[ConfigEntry]:
    """The topic's configs as DescribeConfigs shows them."""
    values = effective_values(texts, settings)
    entries = []
    for name in SHOWN if INTERNAL_SEGMENT_BYTES not in texts else (*SHOWN, INTERNAL_SEGMENT_BYTES):
        value = format_value(values[name])
        synonyms = find_synonyms(BROKER_NAMES[name][0][0], layers) if name in BROKER_NAMES else []
        if name in texts:
            synonyms.insert(0, Synonym(name, value, ConfigSource.TOPIC))
        source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
        entries.append(
            ConfigEntry(name, value, source, LOG_SETTINGS[name].kind, synonyms=synonyms, documentation=_meaning(name))
        )
    return entries


def _meaning(name: str) -> str:
    """What a config does: the same as the broker's setting that gives its default."""
    setting = find_setting(BROKER_NAMES[name][0][0]) if name in BROKER_NAMES else None
    return NO_EFFECT if setting is None else setting.meaning


def configs_at_creation(texts: Mapping[str, str], layers: list[Layer]) -> list[ConfigEntry]:
    """The configs of a new topic as CreateTopics shows them."""
    names = sorted({*SHOWN, *texts})
    return [ConfigEntry(name, *_as_written(name, texts, layers)) for name in names]


def _as_written(name: str, texts: Mapping[str, str], layers: list[Layer]) -> tuple[str | None, ConfigSource]:
    if name in texts:
        return texts[name], ConfigSource.TOPIC
    for source, text_of in layers:
        for broker_name, factor in BROKER_NAMES.get(name, ()):
            text = text_of(broker_name)
            if text is not None and source is not ConfigSource.DEFAULT:
                return text if factor == 1 else str(int(text) * factor), source
    return format_value(LOG_SETTINGS[name].default), ConfigSource.DEFAULT
