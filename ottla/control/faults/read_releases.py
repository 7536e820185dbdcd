"""Prints `kafka_releases.py` from the jars of kafka-clients: which versions of its APIs each release of Kafka serves.

    for version in 2.8.2 3.0.2 … 4.4.0; do
        mvn -q dependency:copy -Dartifact=org.apache.kafka:kafka-clients:$version -DoutputDirectory=jars
    done
    python -m ottla.control.faults.read_releases jars/*.jar > ottla/control/faults/kafka_releases.py

A jar has the schema of each request, which says on which listeners it is served and in which versions; the last one is
left out where it is marked unstable. Kafka: ApiVersionsResponse.filterApis, ApiKeys.toApiVersionForApiResponse.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Final
from zipfile import ZipFile

_WIDTH: Final = 108
_HEAD: Final = '''\
"""Which versions of its APIs each release of Kafka serves, by release: "api key:first-last" of each.

Printed by `read_releases` from the schemas in the jars of kafka-clients; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

RELEASES: Final[Mapping[str, str]] = {'''


def release_of(jar: Path) -> tuple[int, int]:
    """The release that a jar is of, by its name."""
    match = re.search(r"kafka-clients-(\d+)\.(\d+)\.\d+\.jar$", jar.name)
    if match is None:
        raise SystemExit(f"{jar} is not named as Maven names the jars of kafka-clients")
    return int(match[1]), int(match[2])


def served(jar: Path) -> dict[int, tuple[int, int]]:
    """The versions of each API that a broker serves its clients, by api key."""
    return dict(sorted(_requests(jar)))


def _requests(jar: Path) -> Iterator[tuple[int, tuple[int, int]]]:
    with ZipFile(jar) as archive:
        for name in archive.namelist():
            if not re.fullmatch(r"common/message/\w+Request\.json", name):
                continue
            text = re.sub(r"^\s*//.*$", "", archive.read(name).decode(), flags=re.MULTILINE)
            schema, _ = json.JSONDecoder().raw_decode(text.strip())  # one has a bracket too many at its end
            if schema["validVersions"] == "none" or not {"broker", "zkBroker"} & set(schema["listeners"]):
                continue
            first, _, last = schema["validVersions"].partition("-")
            highest = int(last or first) - (1 if schema.get("latestVersionUnstable") else 0)
            if highest >= int(first):
                yield schema["apiKey"], (int(first), highest)


def page(jars: Sequence[Path]) -> str:
    """The module, of these jars."""
    lines = [_HEAD]
    for jar in sorted(jars, key=release_of):
        ranges = " ".join(f"{key}:{first}-{last}" for key, (first, last) in served(jar).items())
        lines.append('    "{}.{}": ('.format(*release_of(jar)))
        parts = wrap(ranges, _WIDTH)
        lines += [f'        "{part}{" " if part is not parts[-1] else ""}"' for part in parts]
        lines.append("    ),")
    return "\n".join([*lines, "}", ""])


if __name__ == "__main__":
    sys.stdout.write(page([Path(argument) for argument in sys.argv[1:]]))
