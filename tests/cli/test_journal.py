"""`ottla serve --journal FILE`: what happened in groups, in a file, whenever the broker ends."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.stage import create, join
from tests.cli.terminal import serving
from tests.support.client import Client


def test_journal_is_complete_when_the_broker_has_ended(tmp_path: Path) -> None:
    """Line after line of a group's life, up to its unloading; the next broker goes on in the same file."""
    path = tmp_path / "journal.jsonl"
    options = ("--journal", str(path), "--set", "group.initial.rebalance.delay.ms=0")
    for life in (1, 2):
        with serving(*options) as broker, Client(broker.bootstrap) as client:
            create(client, "orders", 1)
            join(client, "billing", "orders", [0])
            assert broker.stop() == 0
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert [line["event"] for line in lines] == life * [
            "group.created",
            "group.member.joined",
            "group.rebalance.started",
            "group.rebalance.joined",
            "group.rebalance.completed",
            "group.unloaded",
        ]


def test_journal_on_a_full_disk_does_not_stop_the_group() -> None:
    """One line in the log, and the broker goes on without."""
    with (
        serving("--journal", "/dev/full", "--set", "group.initial.rebalance.delay.ms=0") as broker,
        Client(broker.bootstrap) as client,
    ):
        create(client, "orders", 1)
        join(client, "billing", "orders", [0])
        broker.until_logged("journal.abandoned")
        join(client, "shipping", "orders", [0])
        assert broker.stop() == 0
        assert broker.stderr().count("journal.abandoned") == 1
