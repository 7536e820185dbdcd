"""Settings: Kafka's own names, units and defaults, checked when they are given.

    settings = Settings.read(file_text, ["group.initial.rebalance.delay.ms=0"])
    settings["group.initial.rebalance.delay.ms"]     # 0

Values come from a properties file and from `--set name=value`, the latter winning. An unknown name is no error, for a
server.properties written for Kafka should simply work: it lands in `unknown` and the broker warns. A value that doesn't
fit is a `ConfigError` that names the setting, the value and what would be right.

What Kafka has not is called `ottla.…`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from ottla.broker.settings_table import SETTINGS, Setting


class ConfigError(ValueError):
    """What the user wrote can't be used; the text says which setting, which value, and what would do."""


class Settings:
    """The broker's settings: what was given, and the defaults for everything else."""

    def __init__(self, given: dict[str, str] | None = None) -> None:
        self.given: dict[str, Any] = {}
        self.unknown: dict[str, str] = {}
        for name, text in (given or {}).items():
            self.set(name, text)

    @classmethod
    def read(cls, properties: str = "", overrides: Iterable[str] = ()) -> Settings:
        """Settings from the text of a properties file and from `name=value` words. Raises `ConfigError`."""
        given = dict(parse_properties(properties))
        for word in overrides:
            name, equals, value = word.partition("=")
            if not equals or not name.strip():
                raise ConfigError(f"--set {word!r} is not name=value; write for example --set num.partitions=3")
            given[name.strip()] = value.strip()
        return cls(given)

    def set(self, name: str, text: str) -> None:
        """Take a value as text. Raises `ConfigError` when it doesn't fit."""
        setting = SETTINGS.get(name)
        if setting is None:
            self.unknown[name] = text
        else:
            self.given[name] = parse_value(setting, text)

    def __getitem__(self, name: str) -> Any:
        """The value, or the default. Raises KeyError for a name that is not in the table."""
        return self.given[name] if name in self.given else SETTINGS[name].default


def parse_value(setting: Setting, text: str) -> Any:
    """`text` as the setting's type, in its range. Raises `ConfigError`."""
    try:
        value = _PARSERS[setting.kind](text.strip())
    except ValueError:
        raise ConfigError(f"{setting.name}={text} is not {setting.expected}") from None
    if setting.choices is not None:
        wrong = [v for v in (value if isinstance(value, list) else [value]) if v not in setting.choices]
        if wrong:
            raise ConfigError(f"{setting.name}={text} is not {setting.expected}")
    if setting.at_least is not None and value < setting.at_least:
        raise ConfigError(f"{setting.name}={text} is below {setting.at_least}; give {setting.expected}")
    if setting.at_most is not None and value > setting.at_most:
        raise ConfigError(f"{setting.name}={text} is above {setting.at_most}; give {setting.expected}")
    return value


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _list(text: str) -> list[str]:
    return [item.strip() for item in text.split(",")] if text else []


_PARSERS: Final[dict[str, Callable[[str], Any]]] = {
    "boolean": _boolean,
    "string": str,
    "class": str,
    "password": str,
    "short": int,
    "int": int,
    "long": int,
    "double": float,
    "list": _list,
}


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
