"""What a broker is to have from the start: topics, records and committed offsets, from a file.

    {"topic": "orders", "partitions": 3, "configs": {"retention.ms": "-1"}}
    {"topic": "orders", "partition": 1, "key": "table 4", "value": {"dish": "soup"}, "headers": {"from": "ana"}}
    {"group": "kitchen", "topic": "orders", "partition": 1, "offset": 1}

One JSON object a line, or in a file that ends in .yaml or .yml a list of the same. An object with a group commits an
offset, one with a value or a key is a record (its forms: `ottla.text.record_json`), any other makes a topic. A topic
that no object makes is made when the first record comes for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ottla.cluster.address import MachineRefused
from ottla.control.changes.topics import ChangeRefused, append_batch, commit_offsets, create_topic
from ottla.control.state.topics import NoSuchTopic
from ottla.protocol.record_reading import Record
from ottla.settings.settings import ConfigError
from ottla.text.nearest import nearest
from ottla.text.record_json import CONTENT_NAMES, NotARecord, WrittenRecord, read_record, text_of

if TYPE_CHECKING:
    from ottla.broker.node.services import Services
    from ottla.cluster.cluster import Cluster

#: How many records stand in a batch at most.
_BATCH_RECORDS_MAX: Final = 100


class SeedError(ConfigError):
    """The file says something that makes no sense, or that the broker refuses; the text says where."""


@dataclass(frozen=True, slots=True)
class SeededTopic:
    """A topic to be made."""

    where: str
    topic: str
    partitions: int | None = None
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SeededRecord:
    """A record to be appended."""

    where: str
    topic: str
    partition: int
    record: WrittenRecord


@dataclass(frozen=True, slots=True)
class SeededOffset:
    """An offset to be committed."""

    where: str
    group_id: str
    topic: str
    partition: int
    offset: int


Seeded: TypeAlias = SeededTopic | SeededRecord | SeededOffset


# ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_seed(path: Path) -> list[Seeded]:
    """What the file says. Raises `SeedError`, and `MachineRefused` if it can't be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise MachineRefused(f"cannot read the seed {path}: {error.strerror}; name a file that can be read") from None
    except UnicodeDecodeError:
        raise SeedError(f"{path} is not text in UTF-8") from None
    objects = _from_yaml(path, text) if path.suffix in (".yaml", ".yml") else _from_json_lines(path, text)
    return [seeded(where, entry) for where, entry in objects]


def _from_json_lines(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield f"{path.name}:{number}", json.loads(line)
            except (ValueError, RecursionError) as error:
                raise SeedError(f"{path.name}:{number}: this is not JSON: {error}") from None


def _from_yaml(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    try:
        import yaml
    except ImportError:
        raise MachineRefused(
            f"{path.name}: YAML needs PyYAML; pip install 'ottla[yaml]', or write JSON lines"
        ) from None
    try:
        entries = yaml.safe_load(text) or []
    except yaml.YAMLError as error:
        raise SeedError(f"{path.name}: this is not YAML: {error}") from None
    if not isinstance(entries, list):
        raise SeedError(f"{path.name}: write a list, with an item for each topic, record or offset")
    for number, entry in enumerate(entries, 1):
        yield f"{path.name}, item {number}", entry


def seeded(where: str, entry: Any) -> Seeded:
    """What an object of the file says. Raises `SeedError`."""
    if not isinstance(entry, dict):
        raise SeedError(f'{where}: write an object, such as {{"topic": "orders"}}')
    try:
        if "group" in entry:
            return _offset(where, _Fields(entry))
        if entry.keys() & CONTENT_NAMES:
            return _record(where, read_record(entry))
        return _topic(where, _Fields(entry))
    except NotARecord as error:
        raise SeedError(f"{where}: {error}") from None


def _offset(where: str, fields: _Fields) -> SeededOffset:
    found = SeededOffset(
        where,
        fields.take("group", str),
        fields.take("topic", str),
        fields.take("partition", int, 0),
        fields.take("offset", int),
    )
    fields.check_nothing_left()
    return found


def _record(where: str, record: WrittenRecord) -> SeededRecord:
    if record.topic is None:
        raise NotARecord("topic is missing")
    return SeededRecord(where, record.topic, record.partition or 0, record)


def _topic(where: str, fields: _Fields) -> SeededTopic:
    configs = fields.take("configs", dict, {})
    found = SeededTopic(
        where,
        fields.take("topic", str),
        fields.take("partitions", int, None),
        {text_of("a config", name): text_of(str(name), value) for name, value in configs.items()},
    )
    fields.check_nothing_left()
    return found


class _Fields:
    """What an object of the file has, each taken once. Raises `NotARecord`."""

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self._left = dict(entry)
        self._taken: list[str] = []

    def take(self, name: str, kind: type, *default: Any) -> Any:
        self._taken.append(name)
        if name not in self._left:
            if default:
                return default[0]
            raise NotARecord(f"{name} is missing")
        value = self._left.pop(name)
        if type(value) is not kind:
            raise NotARecord(f"{name} is {value!r}, and should be {_KINDS[kind]}")
        return text_of(name, value) if kind is str else value

    def check_nothing_left(self) -> None:
        for name in self._left:
            raise NotARecord(f"{name} means nothing here; {nearest(str(name), self._taken)}")


_KINDS: Final = {str: "text", int: "a whole number", dict: "an object"}


# ── Planting ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def plant(services: Services, cluster: Cluster, seed: Iterable[Seeded]) -> None:
    """Have the broker have all of it, in its order. Raises `SeedError` at the first that is refused."""
    for (kind, *_place), entries in groupby(seed, key=_together):
        run = list(entries)
        try:
            if kind is SeededRecord:
                for start in range(0, len(run), _BATCH_RECORDS_MAX):
                    _append(cluster, run[start : start + _BATCH_RECORDS_MAX])
            else:
                for entry in run:
                    await _make(services, cluster, entry)
        except (ChangeRefused, NoSuchTopic) as refused:
            raise SeedError(f"{run[0].where}: {refused}") from None


def _together(entry: Seeded) -> tuple[Any, ...]:
    """Records of one partition that follow each other are appended together."""
    return (SeededRecord, entry.topic, entry.partition) if isinstance(entry, SeededRecord) else (type(entry), id(entry))


def _append(cluster: Cluster, run: Sequence[Any]) -> None:
    now_ms = cluster.wall_ms()
    records = [
        Record(
            number,
            now_ms if said.timestamp_ms is None else said.timestamp_ms,
            said.key,
            said.value,
            tuple(said.headers),
        )
        for number, said in enumerate(entry.record for entry in run)
    ]
    append_batch(cluster, run[0].topic, run[0].partition, records)


async def _make(services: Services, cluster: Cluster, entry: Seeded) -> None:
    if isinstance(entry, SeededTopic):
        create_topic(cluster, entry.topic, entry.partitions, entry.configs)
    elif isinstance(entry, SeededOffset):
        await commit_offsets(services, cluster, entry.group_id, {(entry.topic, entry.partition): entry.offset})
