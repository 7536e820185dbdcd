"""confluent-kafka, with TLS, SASL and groups of the new kind."""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.clients.programs.confluent import Confluent
from tests.clients.programs.program import main, say

_SECURITY: dict[str, str] = json.loads(sys.argv[3])


class ConfluentWithSecurity(Confluent):
    @property
    def common(self) -> dict[str, Any]:
        if "ca" in _SECURITY:
            return {**super().common, "security.protocol": "SSL", "ssl.ca.location": _SECURITY["ca"]}
        if "user" in _SECURITY:
            return {
                **super().common,
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.username": _SECURITY["user"],
                "sasl.password": _SECURITY["password"],
            }
        return super().common

    def subscribe(self, group: str, *_: Any, protocol: str = "classic", **options: Any) -> None:
        """In a new group the broker says who gets what, and how often members tell that they are there."""
        if protocol == "classic":
            super().subscribe(group, **options)
            return
        self._consume(
            {
                "group.id": group,
                "group.protocol": protocol,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            }
        )
        self.consumer.subscribe(
            options["topics"],
            on_assign=lambda _, partitions: say(assigned=_pairs(partitions)),
            on_revoke=lambda _, partitions: say(revoked=_pairs(partitions)),
        )

    def begin_transactional(self, transactional_id: str, timeout_ms: int = 60_000, **_: str) -> None:
        """Some libraries want to know the group beforehand; not this one."""
        super().begin_transactional(transactional_id, timeout_ms)


def _pairs(partitions: list[Any]) -> list[list[Any]]:
    return sorted([partition.topic, partition.partition] for partition in partitions)


if __name__ == "__main__":
    main(ConfluentWithSecurity)
