"""`python -m compatibility.page`: print docs/compatibility.md from the results that are kept.

A section is a module `compatibility.NAME_section` with `lines(results)`. It is printed if `results/NAME.json` is there.
The same results give the same page, so a test can hold the two together.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from compatibility.results import DIRECTORY, load

PAGE: Final = Path(__file__).parents[1] / "docs" / "compatibility.md"
#: In the order of the page.
SECTIONS: Final = ("clients", "suites", "conformance")

_HEAD: Final = """\
# Compatibility card

Which versions of which clients work with Ottla? All results on this page come from real runs. Next to each result with
Ottla is the result of the same run with Apache Kafka.

- `make card` makes this page again, in tens of minutes; `make card ONLY=kafka-python` does this for one client. Clients
  come from their registries. Kafka and the Java client need a JDK and Maven. Others need Go or Node.
- A client that cannot run on a machine keeps its last result and its date. Without an earlier result it is "not run".
- [Differences from Kafka](differences.md) lists all known differences, with reasons.\
"""


def text() -> str:
    """The whole page."""
    parts = [_HEAD]
    for name in SECTIONS:
        if (DIRECTORY / f"{name}.json").exists():
            results = load(name)
            parts += ["", *_lines(name, results)]
    return "\n".join(parts).rstrip() + "\n"


def write() -> Path:
    """Write the page; returns where it is."""
    PAGE.write_text(text())
    return PAGE.relative_to(Path.cwd()) if PAGE.is_relative_to(Path.cwd()) else PAGE


def _lines(name: str, results: dict[str, Any]) -> list[str]:
    section = import_module(f"compatibility.{name}_section")
    lines: list[str] = section.lines(results)
    return lines


if __name__ == "__main__":
    sys.stdout.write(text())
