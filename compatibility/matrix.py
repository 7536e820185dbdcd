"""Plays the stories: every client, in every version, against Ottla and against Kafka.

Two rows are played at a time, for a story waits more than it works.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from compatibility.brokers import Broker, CardBroker
from compatibility.certificate import Certificate
from compatibility.clients import Client, Installed, InstallError, has
from compatibility.results import FAILED, HAS_NONE, NOT_SERVED, PASSED, Cell, Stamp
from compatibility.stage import Role, Stage
from compatibility.stories import STORIES, Story
from tests.clients.client_process import RefusedError

#: How long a client may take for a single step.
PATIENCE_SECONDS: Final = 40.0
#: The same, for what the broker has said it does not serve.
ATTEMPT_SECONDS: Final = 8.0
_ROWS_AT_A_TIME: Final = 2
_WHY_CHARACTERS_MAX: Final = 160

Say = Callable[[str], None]
Rows = dict[tuple[str, str], dict[str, Any]]


@dataclass
class Matrix:
    """Rows by client and version, the old ones and those that are played now."""

    stamp: Stamp
    rows: Rows
    say: Say
    #: Where clients' last words are kept, a file for each story.
    logs: Path
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def play(self, clients: Sequence[Client], brokers: Sequence[Broker], certificate: Certificate) -> None:
        """Play all stories of these clients against these brokers."""
        with ExitStack() as stack, ThreadPoolExecutor(_ROWS_AT_A_TIME) as pool:
            running = [stack.enter_context(broker.start(certificate)) for broker in brokers]
            rows = [(client, version) for client in clients for version in client.versions]
            for done in [pool.submit(self._row, client, version, running) for client, version in rows]:
                done.result()

    def _row(self, client: Client, version: str, brokers: Sequence[CardBroker]) -> None:
        row = self.rows.setdefault((client.name, version), {"client": client.name, "version": version})
        row.pop("not run", None)
        try:
            if reason := client.missing(version):
                raise InstallError(reason)
            installed = client.install(version)
        except InstallError as error:
            row["not run"] = {**self.stamp.json(), "why": str(error)}
            self.say(f"{client.name} {version}: not run here: {error}")
            return
        for broker in brokers:
            cells = {story.name: self._cell(client, version, story, installed, broker) for story in STORIES}
            row[broker.name] = {
                **self.stamp.json(),
                **({"release": broker.release} if broker.release else {}),
                "stories": {story: str(cell) for story, cell in cells.items()},
            }
            self._tell(f"{client.name} {version} and {broker.name}", cells)

    def _cell(self, client: Client, version: str, story: Story, installed: Installed, broker: CardBroker) -> Cell:
        if not has(client, version, story.name):
            return Cell(HAS_NONE)
        role = Role(
            f"{client.name} {version}",
            installed,
            broker.security(story.needs),
            ATTEMPT_SECONDS if story.needs in broker.refusals else PATIENCE_SECONDS,
        )
        return played(story, role, broker, self.logs / f"{role.name} {story.name} {broker.name}.log")

    def _tell(self, who: str, cells: Mapping[str, Cell]) -> None:
        with self._lock:
            self.say(f"{who}: {', '.join(f'{story} {cell.outcome}' for story, cell in cells.items())}")
            for story, cell in cells.items():
                if cell.outcome == FAILED:
                    self.say(f"  {story}: {cell.why}")


def played(story: Story, role: Role, broker: CardBroker, log_path: Path) -> Cell:
    """Play one story, and tell what came of it.

    What the broker says it does not serve is tried all the same. A client that crashes then has proved nothing.
    """
    log_path.parent.mkdir(parents=True, exist_ok=True)
    with Stage(role, broker, story.needs, log_path) as stage:
        try:
            story.play(stage)
        except (AssertionError, RefusedError, OSError) as error:
            said = str(error).partition("\n")[0] or type(error).__name__
            if stage.has_crashed:
                return Cell(FAILED, _shortened(f"{said} ({stage.last_words})"))
            if story.needs in broker.refusals:
                return Cell(NOT_SERVED, broker.refusals[story.needs])
            return Cell(FAILED, _shortened(said))
    return Cell(PASSED)


def _shortened(text: str) -> str:
    return text if len(text) <= _WHY_CHARACTERS_MAX else f"{text[: _WHY_CHARACTERS_MAX - 1]}…"
