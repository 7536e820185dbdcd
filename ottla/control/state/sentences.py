"""What happened, for people: a sentence for each kind of event that a timeline is mostly about.

Kinds without one are told by their name and details, so that what comes later is shown, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ottla.events.stream import Event

Details = Mapping[str, Any]

#: What of a member id tells members apart well enough: the client's id and the first of a random uuid.
_LONG_ID: Final = re.compile(r"(-[0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")


def shortened(text: str) -> str:
    """A text with the random parts of member ids cut down."""
    return _LONG_ID.sub(r"\1", text)


def sentence(event: Event) -> str:
    """What happened, without when, and in which group, and to which member."""
    if event.kind.says is not None:
        return shortened(event.kind.says(event.details))
    rest = {key: value for key, value in event.details.items() if key not in ("group_id", "member_id")}
    return shortened(" ".join([event.kind.name, *(f"{key}={value}" for key, value in rest.items())]))
