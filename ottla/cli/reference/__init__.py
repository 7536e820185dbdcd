"""The pages of docs/ that are printed from the code: command lines, `ottla.testing`, settings, events.

docs/groups.md comes from `ottla.coordinator.groups.tables`, docs/transactions.md from the same of transactions.

    python -m ottla.cli.reference docs

`make docs` writes them; a test says which is stale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from ottla.cli.reference.commands import commands_page
from ottla.cli.reference.events_and_settings import config_page, events_page, logs_page
from ottla.cli.reference.testing import testing_page

#: What each page says, by its name in docs/.
PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "command-line.md": commands_page,
    "config.md": config_page,
    "events.md": events_page,
    "logs.md": logs_page,
    "testing-reference.md": testing_page,
}


def write_pages(directory: str) -> None:
    """Write every page into this directory."""
    for name, text in PAGES.items():
        (Path(directory) / name).write_text(text(), encoding="utf-8")
