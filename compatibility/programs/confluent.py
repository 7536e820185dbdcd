"""confluent-kafka, with TLS, SASL and groups of the new kind."""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.clients.programs.confluent import Confluent
from tests.clients.programs.program import main, say

_SECURITY: dict[str, str] = json.loads(sys.argv[3])


class ConfluentWithSecurity(Confluent):
    def __init__(self, bootstrap: str, client_id: str) -> None:
        super().__init__(bootstrap, client_id)
        self._is_asked = False
        self._held: set[tuple[str, int]] = set()

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
        """In a new group the broker says who gets what, and how often members tell that they are there.

        What a member holds then is asked after each turn. Callbacks of 2.8 tell of what comes, and not of what goes.
        """
        self._is_asked = protocol != "classic"
        if not self._is_asked:
            super().subscribe(group, **options)
            return
        self._held.clear()
        self._consume(
            {
                "group.id": group,
                "group.protocol": protocol,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            }
        )
        self.consumer.subscribe(options["topics"])

    def turn(self) -> None:
        super().turn()
        if self._is_asked:
            held = {(partition.topic, partition.partition) for partition in self.consumer.assignment()}
            for what, moved in (("revoked", self._held - held), ("assigned", held - self._held)):
                if moved:
                    say(**{what: sorted(moved)})
            self._held = held

    def begin_transactional(self, transactional_id: str, timeout_ms: int = 60_000, **_: str) -> None:
        """Some libraries want to know the group beforehand; not this one."""
        super().begin_transactional(transactional_id, timeout_ms)


if __name__ == "__main__":
    main(ConfluentWithSecurity)
