"""Settings as people read them, in `ottla serve --help` and docs/config.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ottla.broker.config_values import format_value

if TYPE_CHECKING:
    from ottla.broker.settings_table import Setting

#: What stands for the largest numbers of Java's types, which as defaults mean "no limit".
_NO_LIMIT: Final = {2**31 - 1: "no limit", 2**63 - 1: "no limit"}


def default_text(setting: Setting) -> str:
    """The default with its unit, such as `3000 ms`."""
    if setting.default is None:
        return "none"
    if isinstance(setting.default, int) and setting.default in _NO_LIMIT:
        return _NO_LIMIT[setting.default]
    return f"{format_value(setting.default)} {setting.unit}".strip()


def range_text(setting: Setting) -> str:
    """What values it can have."""
    return setting.expected
