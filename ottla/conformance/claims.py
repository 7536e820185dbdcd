"""What a broker claims to serve, as its ApiVersions says: nothing else is asked of it.

A script that needs a request, or a version of one, that Kafka serves and this broker does not advertise ends with
`NotClaimedError`, and counts as "not claimed". What Kafka does not serve either may be sent to any broker: how such a
request is refused is part of the protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ottla.protocol.registry import Api

#: What Kafka advertises where that is not what it serves: old versions of Produce are there for librdkafka, which looks
#: for them (KAFKA-18659), and the last of InitProducerId is not stable yet.
_ADVERTISED: Final = {"Produce": (0, 13), "InitProducerId": (0, 5)}


class NotClaimedError(Exception):
    """The broker does not say that it serves what is needed; the words say what."""


@dataclass(frozen=True, slots=True)
class Claims:
    """The range of versions of each API, by its key."""

    ranges: Mapping[int, tuple[int, int]]

    def require(self, api: Api, version: int) -> None:
        """Raises `NotClaimedError` if Kafka serves this version, and the broker does not say that it does."""
        if api.version_first <= version <= api.version_last and not self.include(api, version):
            raise NotClaimedError(f"{api.name} v{version}: the broker advertises {self._shown(api)}")

    def require_the_same(self, apis: Iterable[Api]) -> None:
        """Raises `NotClaimedError` unless the broker advertises just the versions that Kafka does."""
        for api in apis:
            if self.ranges.get(api.key) != _ADVERTISED.get(api.name, (api.version_first, api.version_last)):
                raise NotClaimedError(f"the versions Kafka has of {api.name}: the broker advertises {self._shown(api)}")

    def include(self, api: Api, version: int) -> bool:
        first, last = self.ranges.get(api.key, (0, -1))
        return first <= version <= last

    def version(self, api: Api, wanted: int) -> int | None:
        """The highest version up to `wanted` that is served; None if there is none."""
        first, last = self.ranges.get(api.key, (0, -1))
        found = min(last, wanted)
        return found if found >= max(first, api.version_first) else None

    def _shown(self, api: Api) -> str:
        if api.key not in self.ranges:
            return f"no {api.name}"
        first, last = self.ranges[api.key]
        return f"v{first}" if first == last else f"v{first}\N{EN DASH}{last}"
