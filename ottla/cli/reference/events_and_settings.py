"""The pages of settings and events: docs/config.md, docs/events.md, docs/logs.md."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ottla.events.kind import KINDS
from ottla.settings.table import SETTINGS, all_settings
from ottla.settings.text import default_text, range_text
from ottla.text import markdown

_CONFIG_HEAD: Final = """\
# Settings

Settings have Kafka's names, units and defaults. Settings of Ottla's own begin with `ottla.`. `--config FILE` reads them
from a file like Kafka's `server.properties`. `--set name=value` gives one setting and overrides the file. Clients can
change some settings while the broker runs (AlterConfigs, IncrementalAlterConfigs).

- With an invalid value the broker does not start. It prints one line with the valid values; the exit code is 2.
- An unknown name is ignored, with the warning `setting.ignored`.
- {stored} further settings of Kafka 4.4 are accepted, checked and shown (DescribeConfigs), so that a
  `server.properties` and admin tools work. They have no effect; the log says so (`setting.stored`).

The table has the {honoured} settings that have an effect. "Changes" says whether a value can be changed while the
broker runs.
"""

_LOGS_HEAD: Final = """\
# Log events

The log goes to stderr. On a terminal it is text; otherwise it is one JSON object a line
(`--log-format console|json`). It has all events from `--log-level debug|info|warning|error` up.

- Each event has `timestamp`, `level`, `event`, and those of the keys below that have a value.
- An event of one node has `node_id`.
- Names and keys are stable, so that scripts can search for them.
- The [journal](journal.md) has all that happens in groups. [Events](events.md) lists also what is not logged.
- Clients choose some of the values. The console shows unprintable characters in them escaped:
  `client_id='ana\\x1b[2J'`.
- "A bug" means a bug of Ottla: please report it, with the traceback.
"""


_EVENTS_HEAD: Final = """\
# Events

A broker tells what happens as one ordered stream of events. The [log](logs.md), the [journal](journal.md),
[`GET /events`](control.md#following-what-happens-get-events) and tests read this stream. Each event has

- a sequence number,
- two times: `now_ms`, by the clock of the deadlines, and `wall_ms`, a date,
- a kind, and its details; a detail without a value is left out,
- `node_id`, if the event is about one node.

Heartbeats, fetches and produces are not events. `request.handled` is told for every request, but only to readers that
ask for it by name.

"Log" is the level of the event in the log; an event without a level is not logged. The log leaves out the details in
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
        (f"`{kind.name}`", kind.level, ", ".join(f"`{key}`" for key in kind.keys), kind.when)
        for kind in KINDS.values()
        if kind.level is not None
    ]
    return page("ottla/events/kinds/", _LOGS_HEAD, ("Event", "Level", "Keys", "When"), rows)


def events_page() -> str:
    """docs/events.md: all that is told, logged or not."""
    rows = []
    for kind in KINDS.values():
        details = ", ".join(f"`{key}`" for key in kind.keys)
        if kind.keys_unlogged:
            unlogged = ", ".join(f"`{key}`" for key in kind.keys_unlogged)
            details = f"{details} ({unlogged})" if details else f"({unlogged})"
        rows.append((f"`{kind.name}`", kind.level or "", details, kind.when))
    return page("ottla/events/kinds/", _EVENTS_HEAD, ("Event", "Log", "Details", "When"), rows)


def page(source: str, head: str, headers: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A page with a note of where it comes from, an introduction, and a table."""
    lines = [f"<!-- Printed from {source} by `make docs`; change it there. -->", "", head]
    return "\n".join(lines) + "\n" + markdown.table(headers, rows)
