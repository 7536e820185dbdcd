"""aiokafka, with TLS and SASL."""

from __future__ import annotations

import json
import ssl
import sys
from typing import Any

from tests.clients.programs.aio import Aiokafka
from tests.clients.programs.program import main

_SECURITY: dict[str, str] = json.loads(sys.argv[3])


class SecureAiokafka(Aiokafka):
    @property
    def common(self) -> dict[str, Any]:
        if "ca" in _SECURITY:
            context = ssl.create_default_context(cafile=_SECURITY["ca"])
            return {**super().common, "security_protocol": "SSL", "ssl_context": context}
        if "user" in _SECURITY:
            return {
                **super().common,
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_plain_username": _SECURITY["user"],
                "sasl_plain_password": _SECURITY["password"],
            }
        return super().common

    def begin_transactional(self, transactional_id: str, timeout_ms: int = 60_000, **_: str) -> None:
        """Some libraries want to know the group beforehand; not this one."""
        super().begin_transactional(transactional_id, timeout_ms)


if __name__ == "__main__":
    main(SecureAiokafka)
