"""A config as DescribeConfigs shows it: its value, where that comes from, and what else was said on the way.

The *synonyms* of a config are all values that could have applied, the one that did first. They are looked up in the
layers of settings (`config.Settings.layers`) under every name that means the same, such as log.retention.ms, .minutes
and .hours. Kafka then leaves out what comes before the first entry under the config's own name, and so do we.

Kafka: ConfigHelper.configSynonyms, DescribeConfigsResponse.ConfigType.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ottla.settings.settings import ConfigSource, Layer

#: The number of a setting's type on the wire; 0 is "unknown".
TYPE_NUMBERS: Final = {
    kind: number
    for number, kind in enumerate(
        ("boolean", "string", "int", "short", "long", "double", "list", "class", "password"), start=1
    )
}

#: Settings of the broker that say the same in different units, the one that wins first.
#: Kafka: DynamicBrokerConfig.brokerConfigSynonyms.
_SAME_IN_OTHER_UNITS: Final = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)


class Synonym(NamedTuple):
    """A value a config could have, under the name it was found by. None: it is there, and not shown."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(slots=True)
class ConfigEntry:
    """One config. `documentation` None is told as null."""

    name: str
    value: str | None
    source: ConfigSource
    kind: str = ""
    is_read_only: bool = False
    is_sensitive: bool = False
    synonyms: Sequence[Synonym] = field(default_factory=list)
    documentation: str | None = None


def names_for(name: str) -> tuple[str, ...]:
    """The broker settings that mean the same as this one, itself included, the one that wins first."""
    if name == "log.flush.interval.ms":
        return (name, "log.flush.scheduler.interval.ms")
    return next((names for names in _SAME_IN_OTHER_UNITS if name in names), (name,))


def find_synonyms(name: str, layers: Iterable[Layer], *, is_sensitive: bool = False) -> list[Synonym]:
    """All values of a broker setting, the one that counts first."""
    found = [
        Synonym(synonym, None if is_sensitive else text, source)
        for source, text_of in layers
        for synonym in names_for(name)
        if (text := text_of(synonym)) is not None
    ]
    first = next((index for index, synonym in enumerate(found) if synonym.name == name), len(found))
    return found[first:]
