"""A certificate for 127.0.0.1 that is made for one run, as PEM: what clients trust, and what a broker shows."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificate:
    #: What clients trust: it signs itself, and may sign others, for some clients want that of whatever they trust.
    trusted: Path
    #: What the broker shows, with its key: Kafka's keystore of type PEM.
    keystore: Path


def missing() -> str | None:
    """Why none can be made here, in one line, or None."""
    return None if shutil.which("openssl") else "`openssl` is not on the PATH"


def make_certificate(directory: Path) -> Certificate:
    """Needs the command `openssl`."""
    trusted, key = directory / "trusted.pem", directory / "trusted.key"
    own, own_key, request = directory / "broker.pem", directory / "broker.key", directory / "broker.csr"
    names = directory / "names.cnf"
    names.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    _openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=Ottla card", "-keyout", key,
             "-out", trusted)  # fmt: skip
    _openssl("req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", own_key,
             "-out", request)  # fmt: skip
    _openssl("x509", "-req", "-in", request, "-CA", trusted, "-CAkey", key, "-CAcreateserial", "-days", "2",
             "-extfile", names, "-out", own)  # fmt: skip
    keystore = directory / "keystore.pem"
    keystore.write_text(own_key.read_text() + own.read_text() + trusted.read_text())
    return Certificate(trusted, keystore)


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
