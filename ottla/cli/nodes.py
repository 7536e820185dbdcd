"""`ottla nodes`: the nodes of an Ottla, up or not; `ottla nodes stop ID` and `ottla nodes start ID` play their failing.

It speaks to the control API of `ottla serve --control`: Kafka's own protocol can't stop a broker.
"""

from __future__ import annotations

import argparse
from typing import Any, Final

from ottla.cli import control_client
from ottla.terminal.output import Columns, print_json, print_table


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "nodes",
        help="list the nodes of an Ottla, stop or start one",
        description="List the nodes of a running Ottla, or stop and start one, through its control API.",
        allow_abbrev=False,
    )
    control_client.add_options(parser)
    parser.set_defaults(run=lambda options: _run(options, "GET", "/nodes"))
    actions = parser.add_subparsers(metavar="ACTION", title="actions (default: list)")
    listing = actions.add_parser("list", help="every node, with its state", allow_abbrev=False)
    control_client.add_options(listing, is_repeated=True)
    stopping = actions.add_parser(
        "stop",
        help="stop a node; the others take over",
        description="Stop a node: its partitions and groups move to other nodes, then its connections end.",
        allow_abbrev=False,
    )
    stopping.add_argument("node_id", metavar="ID", type=int)
    stopping.add_argument(
        "--hard",
        action="store_true",
        help="as if it died: connections are reset, and failover starts only after ottla.failover.ms",
    )
    control_client.add_options(stopping, is_repeated=True)
    stopping.set_defaults(
        run=lambda options: _run(options, "POST", "/nodes/stop", node_id=options.node_id, hard=options.hard)
    )
    starting = actions.add_parser("start", help="start a stopped node", allow_abbrev=False)
    starting.add_argument("node_id", metavar="ID", type=int)
    control_client.add_options(starting, is_repeated=True)
    starting.set_defaults(run=lambda options: _run(options, "POST", "/nodes/start", node_id=options.node_id))


def _run(options: argparse.Namespace, method: str, path: str, **wish: object) -> int:
    """Ask, and show the nodes as they are now; returns the exit code."""
    answer = control_client.ask(options, method, path, wish)
    if isinstance(answer, int):
        return answer
    nodes = answer["nodes"]
    print_json(nodes) if options.json else print_table(nodes, _COLUMNS)
    return 0


_COLUMNS: Final[Columns] = {
    "NODE": "node_id",
    "STATE": "state",
    "ADDRESS": lambda node: f"{node['host']}:{node['port']}",
    "LEADS": "leads",
    "CONNECTIONS": "connections",
}
