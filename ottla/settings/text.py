"""Settings as people read them, in `ottla serve --help` and docs/config.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ottla.settings.values import format_value

if TYPE_CHECKING:
    from ottla.settings.setting import Setting

#: The largest numbers of Java's types; as defaults they mean that there is no limit.
_NO_LIMIT: Final = (2**31 - 1, 2**63 - 1)

_KINDS: Final = {
    "boolean": "true, false",
    "string": "text",
    "short": "any number",
    "int": "any number",
    "long": "any number",
    "list": "comma-separated list",
}


def default_text(setting: Setting) -> str:
    """The default, without its unit."""
    if isinstance(setting.default, int) and setting.default in _NO_LIMIT:
        return "no limit"
    return format_value(setting.default) or "none"


def default_with_unit(setting: Setting) -> str:
    """The default with its unit, such as `3000 ms`."""
    text = default_text(setting)
    return f"{text} {setting.unit}" if setting.unit and text[-1].isdecimal() else text


def range_text(setting: Setting) -> str:
    """What values it can have, such as `at least 1`."""
    if setting.choices is not None:
        return ", ".join(setting.choices)
    if setting.at_least is not None and setting.at_most is not None:
        return f"{setting.at_least} to {setting.at_most}"
    if setting.at_least is not None:
        return f"at least {setting.at_least}"
    return _KINDS[setting.kind]
