"""Why tests of suites fail or skip themselves, where that was found out: by suite, and by a pattern of their names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_NEW_GROUPS: Final = "Ottla has no groups of the new kind (KIP-848)"
_SHARE_GROUPS: Final = "Ottla has no share groups (KIP-932)"

#: The first pattern that is found in a name counts.
_KNOWN: Final[Mapping[str, Mapping[str, str]]] = {
    "franz-go": {"Share": _SHARE_GROUPS, "848": _NEW_GROUPS},
    "kafka-python": {
        "acls": "Ottla has no access control; with Kafka the ACL that was made is not listed at once",
    },
    "kafka-go": {
        "ACLs": "Ottla has no access control",
        "Quotas": "Ottla has no quotas",
        "verify_offset|commits_on_close": "the suite's own helper panics",
        "UserScram": "Ottla has no SASL, and so no SCRAM credentials",
        "SASL": "there is no listener with SASL",
        "TestConsumerGroupWith(Topic|GroupTopicsSingle)": "its reader joins before there is a topic, and takes what "
        "partitions it sees first for those it was assigned. Ottla makes topics at once, so it hears of no change. "
        "With Kafka one of the two tests failed so in another run",
        "CompactedMessage": "it asks for segments of 200 bytes; Kafka 4 allows none below 1 MB",
    },
}


def reason_of(suite: str, test: str) -> str:
    """In words, or "" if nobody has found out."""
    return next((why for stem, why in _KNOWN.get(suite, {}).items() if re.search(stem, test)), "")
