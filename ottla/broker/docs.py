"""The pages of docs/ that are printed from the code's own tables: `make docs` writes them, a test says which is stale.

    python -m ottla.broker.docs docs

docs/groups.md comes from `ottla.coordinator.groups.tables`, docs/transactions.md from the same of transactions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from ottla.events.kind import Kind
from ottla.settings.table import SETTINGS, all_settings
from ottla.settings.text import default_text, range_text

_CONFIG_HEAD: Final = """\
# Settings

Settings have Kafka's names, units and defaults; what Kafka has not begins with `ottla.`. They are given in a file like
Kafka's `server.properties`, with `--config FILE`, or one by one, with `--set name=value`, which wins over the file.
Clients can change some of them while the broker runs (AlterConfigs, IncrementalAlterConfigs).

- A value that can't be used ends the start with one line that says what can, and exit code 2.
- A name that neither Ottla nor Kafka knows is ignored, with the warning `setting.ignored`.
- {stored} further settings of Kafka 4.4 are taken, checked and shown (DescribeConfigs), so that a `server.properties`
  and admin tools work; nothing goes by them, which `setting.stored` says in the log.

These are the {honoured} that Ottla goes by. "Changes" says whether a value can be changed while the broker runs.
"""

_LOGS_HEAD: Final = """\
# Log events

The log goes to stderr: for people on a terminal, one JSON object a line otherwise (`--log-format console|json`), from
`--log-level debug|info|warning|error` up. Each event has `timestamp`, `level`, `event`, and the keys below as far as
they have a value; those that concern one node have `node_id`. Names and keys are kept stable, so that they can be
searched for. What happens in groups is told in full by the [journal](journal.md).

Clients choose some of the values. Where these have control characters, or anything else that isn't printable, the
console shows them as Python writes them: `client_id='ana\\x1b[2J'`.
"""


def config_page() -> str:
    """docs/config.md: the settings that are honoured."""
    rows = [
        (
            f"`{setting.name}`",
            default_text(setting),
            setting.unit,
            range_text(setting),
            setting.update,
            setting.meaning,
        )
        for setting in SETTINGS.values()
    ]
    head = _CONFIG_HEAD.format(stored=len(all_settings()) - len(SETTINGS), honoured=len(SETTINGS))
    return page(
        "ottla/settings/table.py",
        head,
        ("Setting", "Default", "Unit", "Values", "Changes", "What it does"),
        rows,
    )


def logs_page() -> str:
    """docs/logs.md: the log events."""
    rows = [
        (f"`{kind.value}`", kind.level, ", ".join(f"`{key}`" for key in kind.keys), kind.when)
        for kind in Kind
        if kind.level is not None
    ]
    return page("ottla/events/kind.py", _LOGS_HEAD, ("Event", "Level", "Keys", "When"), rows)


def page(source: str, head: str, headers: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A page with a note of where it comes from, an introduction, and a table."""
    lines = [f"<!-- Printed from {source} by `make docs`; change it there. -->", "", head]
    lines += [_row(headers), _row("---" for _ in headers), *(_row(row) for row in rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


#: What each page says, by its name in docs/.
PAGES: Final[Mapping[str, Callable[[], str]]] = {"config.md": config_page, "logs.md": logs_page}


def main(directory: str) -> None:
    """Write every page into this directory."""
    for name, text in PAGES.items():
        (Path(directory) / name).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
