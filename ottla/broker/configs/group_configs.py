"""Configs that clients set for a group, or for a subscription to clients' metrics: taken, checked and shown.

Nothing goes by them: those of groups are for the group types of KIP-848, KIP-932 and KIP-1071, those of subscriptions
for KIP-714, and none of these is served. Admin tools that set or list them find them working.

A group config `consumer.session.timeout.ms` has the broker's `group.consumer.session.timeout.ms` for its default, and
must lie from `group.consumer.min.session.timeout.ms` to `group.consumer.max.session.timeout.ms`, where there are such
settings.

Kafka: GroupConfig, ClientMetricsConfigs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ottla.broker.configs.entries import ConfigEntry, Synonym, find_synonyms
from ottla.cluster.refused import Refused
from ottla.protocol.errors import ErrorCode
from ottla.settings.setting import Setting
from ottla.settings.settings import ConfigError, ConfigSource, Layer, NodeSettings, parse_value
from ottla.settings.table import find_setting
from ottla.settings.values import format_value

_ASSIGNOR: Final = "streams.assignor.name"
_ASSIGNORS: Final = "group.streams.assignors"
_RACK_TAGS: Final = "streams.rack.aware.assignment.tags"
_DEAD_LETTER_TOPIC: Final = "errors.deadletterqueue.topic.name"

GROUP_SETTINGS: Final = {
    setting.name: setting
    for setting in (
        Setting("consumer.assignment.interval.ms", "int", 1000, 0),
        Setting("consumer.assignor.offload.enable", "boolean", True, is_internal=True),
        Setting("consumer.heartbeat.interval.ms", "int", 5000, 1),
        Setting("consumer.session.timeout.ms", "int", 45_000, 1),
        Setting("errors.deadletterqueue.copy.record.enable", "boolean", False),
        Setting(_DEAD_LETTER_TOPIC, "string", ""),
        Setting("share.assignment.interval.ms", "int", 1000, 0),
        Setting("share.assignor.offload.enable", "boolean", True, is_internal=True),
        Setting("share.auto.offset.reset", "string", "latest"),
        Setting("share.delivery.count.limit", "int", 5, 2),
        Setting("share.heartbeat.interval.ms", "int", 5000, 1),
        Setting("share.isolation.level", "string", "read_uncommitted", choices=("read_committed", "read_uncommitted")),
        Setting("share.partition.max.record.locks", "int", 2000, 100),
        Setting("share.record.lock.duration.ms", "int", 30_000, 1000),
        Setting("share.renew.acknowledge.enable", "boolean", True),
        Setting("share.session.timeout.ms", "int", 45_000, 1),
        Setting("streams.acceptable.recovery.lag", "long", 10_000, 0, is_internal=True),
        Setting("streams.assignment.interval.ms", "int", 1000, 0),
        Setting(_ASSIGNOR, "string", None),
        Setting("streams.assignor.offload.enable", "boolean", True, is_internal=True),
        Setting("streams.heartbeat.interval.ms", "int", 5000, 1),
        Setting("streams.initial.rebalance.delay.ms", "int", 3000, 0),
        Setting("streams.num.standby.replicas", "int", 0, 0),
        Setting("streams.num.warmup.replicas", "int", 2, 0, is_internal=True),
        Setting(_RACK_TAGS, "list", []),
        Setting("streams.session.timeout.ms", "int", 45_000, 1),
        Setting("streams.task.offset.interval.ms", "int", 60_000, 1, is_internal=True),
    )
}

CLIENT_METRICS_SETTINGS: Final = {
    setting.name: setting
    for setting in (
        Setting("interval.ms", "int", 300_000),
        Setting("match", "list", []),
        Setting("metrics", "list", []),
    )
}

_OFFSET_RESET: Final = re.compile(r"earliest|latest|by_duration:P(?!$)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?")
_INTERVAL_MS: Final = range(100, 3_600_001)
_MATCH: Final = re.compile(
    r"\s*(client_instance_id|client_id|client_software_name|client_software_version"
    r"|client_source_address|client_source_port)\s*=[^=]+"
)


def check_group_configs(texts: Mapping[str, str], settings: NodeSettings) -> None:
    """Raise `Refused` if a group can't have these configs. What it does not say is not looked at."""
    for name in texts:
        if name not in GROUP_SETTINGS:
            raise _invalid(f"Unknown group config name: {name}")
    tags = texts.get(_RACK_TAGS, "").split(",")
    if len({tag.strip() for tag in tags}) < len(tags):
        raise _invalid(f"{_RACK_TAGS} must not contain duplicate tag keys.")
    values = _parse(texts, GROUP_SETTINGS)
    if "share.auto.offset.reset" in values and not _OFFSET_RESET.fullmatch(values["share.auto.offset.reset"]):
        raise _invalid("share.auto.offset.reset must be earliest, latest or by_duration:<ISO 8601 duration>")
    for name, value in values.items():
        _check_bounds(name, value, settings)
    assignor, assignors = values.get(_ASSIGNOR), settings[_ASSIGNORS]
    if assignor is not None and assignor not in assignors:
        known = f"Registered assignors are: [{', '.join(assignors)}]."
        raise _invalid(f"{_ASSIGNOR} '{assignor}' is not a registered task assignor. {known}")
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        timeout_ms, interval_ms = (values.get(name, settings[f"group.{name}"]) for name in (session, heartbeat))
        if values.keys() & {session, heartbeat} and timeout_ms <= interval_ms:
            raise _invalid(f"{session} must be greater than {heartbeat}")
    if values.get(_DEAD_LETTER_TOPIC, "").startswith("__"):
        raise _invalid(f"{_DEAD_LETTER_TOPIC}: DLQ topic name must not start with '__'")


def _check_bounds(name: str, value: Any, settings: NodeSettings) -> None:
    least, most = (_bound(name, word, settings) for word in ("min", "max"))
    if (least is None or value >= least) and (most is None or value <= most):
        return
    if most is None:
        raise _invalid(f"{name} must be greater than or equal to {least}")
    if least is None:
        raise _invalid(f"{name} must be less than or equal to {most}")
    raise _invalid(f"{name} must be in the range {least} to {most} inclusive.")


def describe_group(texts: Mapping[str, str], settings: NodeSettings, layers: list[Layer]) -> list[ConfigEntry]:
    """A group's configs as DescribeConfigs shows them; internal ones only where it says something."""
    values = {**_defaults(settings), **_parse(texts, GROUP_SETTINGS)}
    entries = []
    for name, setting in GROUP_SETTINGS.items():
        if setting.is_internal and name not in texts:
            continue
        value = format_value(values[name])
        broker_name = _broker_name(name)
        if broker_name is not None:
            synonyms = find_synonyms(broker_name, layers)
        else:
            synonyms = [Synonym(name, format_value(setting.default), ConfigSource.DEFAULT)]
        if name in texts:
            synonyms.insert(0, Synonym(name, value, ConfigSource.GROUP))
        entries.append(
            ConfigEntry(name, value, synonyms[0].source, setting.kind, synonyms=synonyms, documentation=setting.meaning)
        )
    return entries


def check_client_metrics_configs(texts: Mapping[str, str]) -> None:
    """Raise `Refused` if a subscription can't have these configs."""
    for name in texts:
        if name not in CLIENT_METRICS_SETTINGS:
            raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {name}")
    values = _parse(texts, CLIENT_METRICS_SETTINGS)
    if values.get("interval.ms", _INTERVAL_MS.start) not in _INTERVAL_MS:
        text = f"interval.ms must be between {_INTERVAL_MS.start} and {_INTERVAL_MS.stop - 1}"
        raise Refused(ErrorCode.INVALID_REQUEST, text)
    for pattern in values.get("match", ()):
        if not _MATCH.fullmatch(pattern):
            raise _invalid(f"Illegal client matching pattern: {pattern}")


def describe_client_metrics(texts: Mapping[str, str]) -> list[ConfigEntry]:
    """A subscription's configs as DescribeConfigs shows them."""
    values = _parse(texts, CLIENT_METRICS_SETTINGS)
    entries = []
    for name, setting in CLIENT_METRICS_SETTINGS.items():
        value = format_value(values.get(name, setting.default))
        synonyms = [Synonym(name, value, ConfigSource.CLIENT_METRICS)] if name in texts else []
        source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
        entries.append(ConfigEntry(name, value, source, setting.kind, synonyms=synonyms, documentation=setting.meaning))
    return entries


def _broker_name(name: str) -> str | None:
    """The broker's setting that a group config has its default from; None if it has one of its own."""
    broker_name = _ASSIGNORS if name == _ASSIGNOR else f"group.{name}"
    return broker_name if find_setting(broker_name) is not None else None


def _defaults(settings: NodeSettings) -> dict[str, Any]:
    """What a group has that says nothing."""
    values = {}
    for name, setting in GROUP_SETTINGS.items():
        broker_name = _broker_name(name)
        values[name] = setting.default if broker_name is None else settings[broker_name]
    values[_ASSIGNOR] = next(iter(values[_ASSIGNOR]), None)  # the first of the assignors there are
    return values


def _bound(name: str, word: str, settings: NodeSettings) -> Any:
    """What the broker bounds a group config by from below (min) or above (max); None if by nothing."""
    kind, _, rest = name.partition(".")
    bound = f"group.{kind}.{word}.{rest.removeprefix('num.')}"
    return settings[bound] if find_setting(bound) is not None else None


def _parse(texts: Mapping[str, str], table: Mapping[str, Setting]) -> dict[str, Any]:
    try:
        return {name: parse_value(table[name], text) for name, text in texts.items()}
    except ConfigError as error:
        raise _invalid(error.for_client) from None


def _invalid(text: str) -> Refused:
    return Refused(ErrorCode.INVALID_CONFIG, text)
