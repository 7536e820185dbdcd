"""A setting: its name and type, its valid values, and when a change takes effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

#: When a changed value takes effect, in the words of Kafka's documentation.
READ_ONLY: Final = "read-only"
CLUSTER_WIDE: Final = "cluster-wide"
PER_BROKER: Final = "per-broker"

#: The meaning of a setting that has no effect here.
NO_EFFECT: Final = "Taken and shown; nothing goes by it here."

_UNITS: Final = frozenset(("bytes", "hours", "minutes", "ms", "seconds"))


@dataclass(slots=True)
class Setting:
    """One setting. `kind` is Kafka's word for its type; `choices` are the only values, or list items, allowed.

    `default` is parsed; None: there is none. `meaning` is a sentence for people.
    """

    name: str
    kind: str
    default: Any
    at_least: int | float | None = None
    at_most: int | float | None = None
    choices: tuple[str, ...] | None = None
    update: str = READ_ONLY
    meaning: str = NO_EFFECT
    #: Known, but only shown when it is given, as with Kafka: most of them are for its own tests.
    is_internal: bool = False

    @property
    def unit(self) -> str:
        """The unit of its value, from its name; empty if there is none."""
        return next((word for word in reversed(self.name.split(".")) if word in _UNITS), "")

    @property
    def expected(self) -> str:
        """What a right value looks like, for error messages."""
        if self.choices is not None:
            return "one of " + ", ".join(map(str, self.choices))
        kind = {
            "boolean": "true or false",
            "short": "a whole number",
            "int": "a whole number",
            "long": "a whole number",
            "double": "a number",
            "list": "a list without empty items",
        }.get(self.kind, "text")
        if self.at_least is not None and self.at_most is not None:
            return f"{kind} from {self.at_least} to {self.at_most}"
        return kind if self.at_least is None else f"{kind}, at least {self.at_least}"
