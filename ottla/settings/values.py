"""One value of a setting: from the text a user or client wrote to what the code works with, and back to Kafka's text.

Types, trimming and ranges are Kafka's: a boolean is `true` or `false` in any case, numbers have the range of their
Java type, a list is split at commas and loses what it says twice. A value that doesn't fit is a `BadValueError`,
with two texts: one for the command line, and one, in Kafka's words, for a client.

Kafka: clients/.../common/config/ConfigDef.java, parseType, convertToString and the validators.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ottla.settings.setting import Setting

_WHOLE_NUMBER: Final = r"[+-]?[0-9]+"
_DECIMAL_NUMBER: Final = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_BITS: Final = {"short": 16, "int": 32, "long": 64}


class ConfigError(ValueError):
    """A value the user wrote can't be used; the text names the setting, the value, and valid values."""

    @property
    def for_client(self) -> str:
        """The text for a client that asked for it over the wire."""
        return str(self)


class BadValueError(ConfigError):
    """A value of the wrong type or out of its range. `problem` is what Kafka says of it."""

    def __init__(self, setting: Setting, text: object, problem: str) -> None:
        super().__init__(f"{setting.name}={text} is not {setting.expected}")
        self._for_client = f"Invalid value {text} for configuration {setting.name}: {problem}"

    @property
    def for_client(self) -> str:
        return self._for_client


def parse_value(setting: Setting, text: str) -> Any:
    """`text` as the setting's type, in its range. Raises `BadValueError`."""
    value = _PARSERS[setting.kind](setting, text.strip())
    if setting.choices is not None:
        for item in value if isinstance(value, list) else (value,):
            if item not in setting.choices:
                raise BadValueError(setting, item, f"String must be one of: {', '.join(map(str, setting.choices))}")
    if setting.at_least is not None and value < setting.at_least:
        raise BadValueError(setting, value, f"Value must be at least {setting.at_least}")
    if setting.at_most is not None and value > setting.at_most:
        raise BadValueError(setting, value, f"Value must be no more than {setting.at_most}")
    return value


def _boolean(setting: Setting, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise BadValueError(setting, text, "Expected value to be either true or false")
    return text.lower() == "true"


def _whole_number(setting: Setting, text: str) -> int:
    most = 1 << _BITS[setting.kind] - 1
    # No Java type has more digits than this; Python takes its time over longer ones.
    value = int(text) if re.fullmatch(_WHOLE_NUMBER, text) and len(text) < 40 else most
    if not -most <= value < most:
        raise BadValueError(setting, text, f"Not a number of type {setting.kind.upper()}")
    return value


def _decimal_number(setting: Setting, text: str) -> float:
    if not re.fullmatch(_DECIMAL_NUMBER, text):
        raise BadValueError(setting, text, "Not a number of type DOUBLE")
    return float(text)


def _list(setting: Setting, text: str) -> list[str]:
    items = list(dict.fromkeys(item.strip() for item in text.split(","))) if text else []
    if "" in items:
        raise BadValueError(setting, text, "values must not be empty")
    return items


def _text(setting: Setting, text: str) -> str:
    return text


_PARSERS: Final[dict[str, Callable[[Setting, str], Any]]] = {
    "boolean": _boolean,
    "string": _text,
    "class": _text,
    "password": _text,
    "short": _whole_number,
    "int": _whole_number,
    "long": _whole_number,
    "double": _decimal_number,
    "list": _list,
}


def format_value(value: Any) -> str | None:
    """A parsed value as Kafka writes it; None stays None."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case list():
            return ",".join(value)
        case float():
            return _format_double(value)
    return str(value)


def _format_double(value: float) -> str:
    """As Java's Double.toString: plain from 0.001 up to 10 million, else 1.0E-5."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    from decimal import Decimal

    mantissa, _, exponent = f"{Decimal(repr(value)).normalize():E}".partition("E")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"
