"""`python -m compatibility`: play the stories, keep what came of them, and print the page."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from compatibility import certificate, page
from compatibility.brokers import Kafka, Ottla
from compatibility.choice import chosen
from compatibility.clients import CLIENTS, Client
from compatibility.clients.client import CACHE
from compatibility.matrix import Matrix, Rows
from compatibility.results import CLIENTS as RESULTS
from compatibility.results import Stamp, load, save

_BROKERS: Final = (Ottla(), Kafka())


def main() -> int:
    names = [client.name for client in CLIENTS]
    parser = argparse.ArgumentParser(prog="python -m compatibility", description="Play every client's stories.")
    parser.add_argument("--only", default="", metavar="NAMES", help=f"clients, with commas between: {', '.join(names)}")
    options = parser.parse_args()
    wanted = chosen(parser, options.only, "client", names)
    clients = [client for client in CLIENTS if client.name in wanted]
    if reason := certificate.missing():
        parser.exit(1, f"card: {reason}\n")
    brokers = [broker for broker in _BROKERS if not _is_missing(broker)]
    stamp = Stamp.now()
    matrix = Matrix(stamp, _kept(), _say, CACHE / "logs")
    try:
        with tempfile.TemporaryDirectory(prefix="ottla-card-") as directory:
            matrix.play(clients, brokers, certificate.make_certificate(Path(directory)))
    finally:
        keep(stamp, matrix.rows, clients)
    print(f"card: {page.write()} is printed", file=sys.stderr)
    return 0


def _kept() -> Rows:
    """The rows of earlier runs."""
    return {(row["client"], row["version"]): row for row in load(RESULTS).get("rows", ())}


def keep(stamp: Stamp, rows: Rows, played: Sequence[Client]) -> None:
    """Write the rows of these clients, and of the others what is kept by now. What isn't played any more goes."""
    kept = _kept()
    of_clients = {client.name for client in played}
    ordered = [(client.name, version) for client in CLIENTS for version in client.versions]
    all_rows = {place: (rows if place[0] in of_clients else kept).get(place) for place in ordered}
    present = [row for row in all_rows.values() if row is not None]
    save(RESULTS, {**stamp.json(), "rows": present})


def _is_missing(broker: Ottla | Kafka) -> bool:
    reason = broker.missing()
    if reason:
        _say(f"without {broker.name}: {reason}")
    return reason is not None


def _say(line: str) -> None:
    print(f"card: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
