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
searched for. What happens in groups is told in full by the [journal](journal.md); [events.md](events.md) has what is
not logged too.

Clients choose some of the values. Where these have control characters, or anything else that isn't printable, the
console shows them as Python writes them: `client_id='ana\\x1b[2J'`.
"""


_EVENTS_HEAD: Final = """\
# Events

What happens in a broker is told once, in order, and read by many: the [log](logs.md), the [journal](journal.md),
whoever follows [`GET /events`](control.md#following-what-happens-get-events), and tests. Each event has a sequence, two
times (`now_ms`, by the clock that deadlines are set by, and `wall_ms`, a date), a kind, and details; `node_id` says
which node it concerns, if one. A detail without a value is left out.

Heartbeats, fetches and produces are no events. `request.handled` is told of each request, so who wants it has to ask
for it by name; while nobody does, nothing is made of it.

"Log" is the level at which the log has it; without one it is not in there. The log leaves out the details in
parentheses.
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
    return page("ottla/events/kinds/", _LOGS_HEAD, ("Event", "Level", "Keys", "When"), rows)


def events_page() -> str:
    """docs/events.md: all that is told, logged or not."""
    rows = []
    for kind in Kind:
        details = ", ".join(f"`{key}`" for key in kind.keys)
        if kind.keys_unlogged:
            unlogged = ", ".join(f"`{key}`" for key in kind.keys_unlogged)
            details = f"{details} ({unlogged})" if details else f"({unlogged})"
        rows.append((f"`{kind.value}`", kind.level or "", details, kind.when))
    return page("ottla/events/kinds/", _EVENTS_HEAD, ("Event", "Log", "Details", "When"), rows)


def page(source: str, head: str, headers: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A page with a note of where it comes from, an introduction, and a table."""
    lines = [f"<!-- Printed from {source} by `make docs`; change it there. -->", "", head]
    lines += [_row(headers), _row("---" for _ in headers), *(_row(row) for row in rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


#: What each page says, by its name in docs/.
PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "config.md": config_page,
    "events.md": events_page,
    "logs.md": logs_page,
}


def main(directory: str) -> None:
    """Write every page into this directory."""
    for name, text in PAGES.items():
        (Path(directory) / name).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
