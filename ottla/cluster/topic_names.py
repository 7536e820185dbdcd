"""Which names a topic may have.

1 to 249 of the ASCII letters, digits, `.`, `_` and `-`, but not `.` or `..`. Two names that differ only in dots against
underscores collide: Kafka's metrics could not tell them apart, so a new topic must not collide with an old one.

Kafka: clients/.../common/internals/Topic.java.
"""

from __future__ import annotations

import re
from typing import Final

from ottla.cluster.refused import Refused
from ottla.protocol.errors import ErrorCode

GROUP_TOPIC: Final = "__consumer_offsets"
TRANSACTION_TOPIC: Final = "__transaction_state"
SHARE_GROUP_TOPIC: Final = "__share_group_state"
#: The topic of Kafka's own metadata: no client may create it.
METADATA_TOPIC: Final = "__cluster_metadata"
#: Topics of the broker's own: marked internal in Metadata, closed to ordinary producers.
INTERNAL_TOPICS: Final = frozenset((GROUP_TOPIC, TRANSACTION_TOPIC, SHARE_GROUP_TOPIC))

NAME_LENGTH_MAX: Final = 249
_ALLOWED: Final = re.compile(r"[a-zA-Z0-9._-]*")


def check_name(name: str) -> None:
    """Raise `Refused` if no topic can be called this."""
    fault = name_fault(name)
    if fault is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {fault}")


def name_fault(name: str) -> str | None:
    """What is wrong with a name, or None."""
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > NAME_LENGTH_MAX:
        return f"'{name}' is longer than {NAME_LENGTH_MAX} characters"
    if not _ALLOWED.fullmatch(name):
        return f"'{name}' has characters other than ASCII letters, digits, '.', '_' and '-'"
    return None


def unified(name: str) -> str | None:
    """What names that collide with this one have in common; None: nothing can collide with it."""
    return name.replace(".", "_") if "." in name or "_" in name else None
