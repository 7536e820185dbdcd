"""Where a cluster is, and how to get in, for Spark's connector and for librdkafka.

`--command-config FILE` has the settings of Kafka's Java client, as Kafka's own tools take them. Those of security,
`security.*`, `sasl.*` and `ssl.*`, go to the connector unchanged; others are ignored, because a job sets what it needs.
librdkafka has most of them under the same name, but takes user and password without JAAS around them, and certificates
as PEM, never in a Java keystore. A job uses both clients, so a setting that only one of them can have is refused.

Tasks carry the address to the executors, with its secrets, as Spark's own options do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ottla.pipeline.refusals import CannotUse, CannotWork

_OF_SECURITY: Final = ("security.", "sasl.", "ssl.")
#: librdkafka's names for settings of the same meaning. Those that aren't here are Java's own business.
_LIBRDKAFKA: Final = {
    "sasl.mechanism": "sasl.mechanism",
    "security.protocol": "security.protocol",
    "ssl.key.password": "ssl.key.password",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.truststore.certificates": "ssl.ca.pem",
}
_MECHANISMS: Final = {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}
#: `…LoginModule required username="ana" password="se\"cret";`
_JAAS_OPTION: Final = re.compile(r'(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";]+))')
_KEY: Final = re.compile(r"((?:[^\s=:\\]|\\.)*)\s*[=:]?\s*(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED: Final = {"f": "\f", "n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """HOST:PORT, or several with commas between; and the security settings of Kafka's Java client."""

    bootstrap: str
    security: Mapping[str, str] = field(default_factory=dict)

    def for_connector(self) -> dict[str, str]:
        """Options of Spark's connector."""
        return {f"kafka.{key}": value for key, value in {"bootstrap.servers": self.bootstrap, **self.security}.items()}

    def for_librdkafka(self) -> dict[str, str]:
        """Settings of a confluent-kafka client. Raises `CannotUse` for what it can't have."""
        return {"bootstrap.servers": self.bootstrap, **_for_librdkafka(self.security)}


def read_security(path: Path, option: str) -> dict[str, str]:
    """The security settings in a file of Java properties. Raises `Refusal`; `option` is what the user called it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise CannotWork(f"{option} {path} can't be read: {reason}; name a file of Kafka's client settings") from None
    security = {key: value for key, value in properties(text) if key.startswith(_OF_SECURITY)}
    try:
        _for_librdkafka(security)
    except CannotUse as refusal:
        raise CannotUse(f"{option} {path}: {refusal}") from None
    return security


def properties(text: str) -> Iterator[tuple[str, str]]:
    """Keys and values, as java.util.Properties reads them."""
    whole = ""
    for line in text.splitlines():
        piece = line.lstrip()
        if not whole and (not piece or piece[0] in "#!"):
            continue
        whole += piece
        if (len(whole) - len(whole.rstrip("\\"))) % 2:  # the line goes on, unless the backslash itself is escaped
            whole = whole[:-1]
            continue
        yield _pair(whole)
        whole = ""
    if whole:
        yield _pair(whole)


def _pair(line: str) -> tuple[str, str]:
    found = _KEY.fullmatch(line)
    assert found is not None, "it matches every line"
    return _unescaped(found[1]), _unescaped(found[2])


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda at: chr(int(at[1][1:], 16)) if len(at[1]) > 1 else _ESCAPED.get(at[1], at[1]), text)


def _for_librdkafka(security: Mapping[str, str]) -> dict[str, str]:
    settings = {_LIBRDKAFKA[key]: value for key, value in security.items() if key in _LIBRDKAFKA}
    if (protocol := security.get("security.protocol", "PLAINTEXT").upper()).startswith("SASL"):
        settings |= _credentials(security)
    if protocol.endswith("SSL"):
        settings |= _stores(security)
        if (algorithm := security.get("ssl.endpoint.identification.algorithm")) is not None:
            settings["ssl.endpoint.identification.algorithm"] = algorithm or "none"
    return settings


def _credentials(security: Mapping[str, str]) -> dict[str, str]:
    mechanism = security.get("sasl.mechanism", "GSSAPI")
    if mechanism not in _MECHANISMS:
        raise CannotUse(f"sasl.mechanism={mechanism} is not one the jobs know: {', '.join(sorted(_MECHANISMS))}")
    jaas = _JAAS_OPTION.findall(security.get("sasl.jaas.config", ""))
    said = {name: re.sub(r"\\(.)", r"\1", quoted) or bare for name, quoted, bare in jaas}
    if not said.keys() >= {"username", "password"}:
        raise CannotUse('sasl.jaas.config says no username="…" and password="…"')
    return {"sasl.username": said["username"], "sasl.password": said["password"]}


def _stores(security: Mapping[str, str]) -> dict[str, str]:
    """The files with certificates and keys."""
    settings = {}
    if (trusted := security.get("ssl.truststore.location")) is not None:
        if security.get("ssl.truststore.type", "JKS").upper() != "PEM":
            raise CannotUse("ssl.truststore.location must be a PEM file, with ssl.truststore.type=PEM, for all clients")
        settings["ssl.ca.location"] = trusted
    if (own := security.get("ssl.keystore.location")) is not None:
        kind = security.get("ssl.keystore.type", "JKS").upper()
        if kind == "PEM":
            settings |= {"ssl.certificate.location": own, "ssl.key.location": own}
        elif kind == "PKCS12":
            settings |= {
                "ssl.keystore.location": own,
                "ssl.keystore.password": security.get("ssl.keystore.password", ""),
            }
        else:
            raise CannotUse("ssl.keystore.location must be PEM or PKCS12, as ssl.keystore.type says, for all clients")
    return settings
