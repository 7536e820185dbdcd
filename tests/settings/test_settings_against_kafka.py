"""The tables of settings are Kafka's own: names, types, defaults, ranges, and when a change counts."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from ottla.broker.configs.group_configs import GROUP_SETTINGS
from ottla.log.config import LOG_SETTINGS
from ottla.settings.setting import Setting
from ottla.settings.table import all_settings
from ottla.settings.values import format_value
from tests.support.kafka_process import KafkaStartError, class_path, missing_tools

#: What a table says of a setting: type, default, (least, most), allowed values, when a change counts, is it internal?
Row: TypeAlias = tuple[str, str | None, tuple[str, str], tuple[str, ...] | None, str, bool]

#: Internal to Kafka's quotas, and in no table. Kafka: QuotaConfig.brokerQuotaConfigs.
RATES: Final = {
    "follower.replication.throttled.rate",
    "leader.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
}

TABLES: Final[Mapping[str, Mapping[str, Setting]]] = {
    "broker": {
        name: setting for name, setting in all_settings().items() if not name.startswith("ottla.") and name not in RATES
    },
    "topic": LOG_SETTINGS,
    "group": GROUP_SETTINGS,
}
_PROGRAM: Final = Path(__file__).parents[1] / "protocol" / "peers" / "KafkaSettings.java"
_RANGE: Final = re.compile(r"\[(-?[0-9.]+),\.\.\.(?:,([0-9.]+))?\](?: or (-[0-9]+))?")
_CHOICES: Final = re.compile(r"\[([\w.]+(?:, [\w.]+)*)\]")


@pytest.fixture(scope="module")
def kafkas() -> dict[str, dict[str, Row]]:
    """Kafka's tables by kind of resource, printed by Kafka's own classes."""
    reason = missing_tools()
    if reason is not None:
        pytest.skip(reason)
    try:
        command = ["java", "-XX:TieredStopAtLevel=1", "-cp", class_path(), str(_PROGRAM)]
    except KafkaStartError as error:
        pytest.skip(str(error))
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    tables: dict[str, dict[str, Row]] = {table: {} for table in TABLES}
    for line in printed.splitlines():
        table, name, kind, default, validator, update, is_internal = line.split("\t")
        found = _RANGE.fullmatch(validator)
        bounds = (found[3] or found[1], found[2] or "") if found else ("", "")
        choices = _CHOICES.fullmatch(validator)
        tables[table][name] = (
            kind,
            None if default == "null" else default,
            bounds,
            tuple(sorted(choices[1].split(", "))) if choices else None,
            update,
            is_internal == "true",
        )
    return tables


def row(setting: Setting) -> Row:
    """One of our settings in the same form."""
    return (
        setting.kind,
        format_value(setting.default),
        (_number(setting.at_least), _number(setting.at_most)),
        tuple(sorted(setting.choices)) if setting.choices else None,
        setting.update,
        setting.is_internal,
    )


def _number(number: float | None) -> str:
    return "" if number is None else str(number)


@pytest.mark.parametrize("table", TABLES)
def test_table_is_kafkas(kafkas: dict[str, dict[str, Row]], table: str) -> None:
    """Line by line: what a new release of Kafka has brought, changed or dropped stands in the difference."""
    ours = {name: row(setting) for name, setting in TABLES[table].items()}
    assert ours == kafkas[table]
