"""What a suite is to whoever runs it, and what comes of one."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from tests.clients.libraries import ROOT

CACHE: Final = ROOT / ".cache" / "suites"
#: Where the broker is, in the network of a suite.
BOOTSTRAP: Final = "localhost:9092"


class Outcome(StrEnum):
    """Of one test."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


#: What suites with tests of access control expect.
AUTHORIZER: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:ANONYMOUS",
}

#: By the names that the suite has for its tests.
Outcomes: TypeAlias = Mapping[str, Outcome]


class Suite(Protocol):
    """One public suite, in one version."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def origin(self) -> str:
        """Where it comes from, for people."""

    @property
    def scope(self) -> str:
        """What of it is run, and what not, for people."""

    @property
    def settings(self) -> Mapping[str, str]:
        """What the broker is to be set to, beside a listener."""

    @property
    def settings_of_kafka(self) -> Mapping[str, str]:
        """What Kafka is to be set to as well, which Ottla does not serve."""

    def missing(self) -> str | None:
        """Why it cannot be run here, in one line, or None."""

    def prepare(self) -> None:
        """Fetch and build it. Here there is the network of the machine; later there is only the broker."""

    def run(self, log: Path) -> Outcomes:
        """Run it against the broker at `BOOTSTRAP`; what it says is written to `log`."""

    def passes_alone(self) -> frozenset[str]:
        """The tests that pass, or skip themselves, where no broker is: they say nothing of one."""
