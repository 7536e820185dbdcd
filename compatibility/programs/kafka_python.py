"""kafka-python from 2.0.2 on, with TLS and SASL."""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.clients.programs.kafka_python import KafkaPython
from tests.clients.programs.program import main

_SECURITY: dict[str, str] = json.loads(sys.argv[3])


class KafkaPythonOfAnyVersion(KafkaPython):
    @property
    def common(self) -> dict[str, Any]:
        if "ca" in _SECURITY:
            return {**super().common, "security_protocol": "SSL", "ssl_cafile": _SECURITY["ca"]}
        if "user" in _SECURITY:
            return {
                **super().common,
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_plain_username": _SECURITY["user"],
                "sasl_plain_password": _SECURITY["password"],
            }
        return super().common

    def idempotence(self, idempotent: bool) -> dict[str, Any]:
        """Each version's own default."""
        return {}

    def assignor(self, name: str) -> type:
        from kafka.coordinator.assignors.range import RangePartitionAssignor

        return RangePartitionAssignor  # type: ignore[no-any-return]

    def begin_transactional(self, transactional_id: str, timeout_ms: int = 60_000, **_: str) -> None:
        """Some libraries want to know the group beforehand; not this one."""
        super().begin_transactional(transactional_id, timeout_ms)


if __name__ == "__main__":
    main(KafkaPythonOfAnyVersion)
