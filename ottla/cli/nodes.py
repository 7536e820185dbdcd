"""`ottla nodes`: the nodes of an Ottla, up or not; `ottla nodes stop ID` and `ottla nodes start ID` play their failing.

It speaks to the control API of `ottla serve --control`: Kafka's own protocol can't stop a broker.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any, Final

from ottla.cli import control_token
from ottla.terminal.exit_codes import EXIT_MACHINE, EXIT_USAGE, fail
from ottla.terminal.output import Columns, Item, print_json, print_table

if TYPE_CHECKING:
    from ottla.cluster.address import Address

#: A node that is stopped in an orderly way waits for its clients to take their answers.
_TIMEOUT_SECONDS: Final = 30.0


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "nodes",
        help="list the nodes of an Ottla, stop or start one",
        description="List the nodes of a running Ottla, or stop and start one, through its control API.",
        allow_abbrev=False,
    )
    _add_options(parser)
    parser.set_defaults(run=lambda options: _run(options, "GET", "/nodes"))
    actions = parser.add_subparsers(metavar="ACTION", title="actions (default: list)")
    listing = actions.add_parser("list", help="every node, and whether it is up", allow_abbrev=False)
    _add_options(listing, is_repeated=True)
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
        help="as if it died: connections are reset, and it is missed only after ottla.failover.ms",
    )
    _add_options(stopping, is_repeated=True)
    stopping.set_defaults(
        run=lambda options: _run(options, "POST", "/nodes/stop", node_id=options.node_id, hard=options.hard)
    )
    starting = actions.add_parser("start", help="start a node that was stopped", allow_abbrev=False)
    starting.add_argument("node_id", metavar="ID", type=int)
    _add_options(starting, is_repeated=True)
    starting.set_defaults(run=lambda options: _run(options, "POST", "/nodes/start", node_id=options.node_id))


def _add_options(parser: argparse.ArgumentParser, *, is_repeated: bool = False) -> None:
    """The options of every action. `is_repeated`: the parser it belongs to has them already."""

    def default(value: object) -> object:
        return argparse.SUPPRESS if is_repeated else value

    parser.add_argument(
        "--control",
        metavar="HOST:PORT",
        default=default("127.0.0.1:9644"),
        help="the broker's control API, as its ready line says it (default: 127.0.0.1:9644)",
    )
    control_token.add_options(parser, default(None))
    parser.add_argument("--json", action="store_true", default=default(False), help="JSON instead of a table")


def _run(options: argparse.Namespace, method: str, path: str, **wish: object) -> int:
    """Ask, and show the nodes as they are now; returns the exit code."""
    from http import HTTPStatus

    from ottla.cluster.address import Address, MachineRefused
    from ottla.settings.settings import ConfigError

    try:
        address = Address.parse(options.control.removeprefix("http://"), "--control")
        token = control_token.read(options)
    except ConfigError as error:
        return fail(str(error), EXIT_USAGE)
    except MachineRefused as error:
        return fail(str(error), EXIT_MACHINE)
    status, answer = _ask(address, token, method, path, wish)
    if status is None:
        return fail(
            f"no control API answers at {address}; start a broker with `ottla serve --control HOST:PORT`, "
            "or name another one with --control",
            EXIT_MACHINE,
        )
    if status == HTTPStatus.UNAUTHORIZED:
        return fail(
            f"the control API at {address} asks for {'another' if token else 'a'} token; name the file that has it "
            f"with --control-token-file FILE, or set {control_token.VARIABLE}",
            EXIT_MACHINE,
        )
    if "error" in answer:
        return fail(answer["error"], EXIT_MACHINE)
    nodes = answer["nodes"]
    print_json(nodes) if options.json else print_table(nodes, _COLUMNS)
    return 0


def _ask(address: Address, token: str | None, method: str, path: str, wish: Item) -> tuple[int | None, Item]:
    """The status and what is answered; None: there is nobody who does."""
    from http.client import HTTPConnection, HTTPException

    headers = {"Content-Type": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    connection = HTTPConnection(address.host, address.port, timeout=_TIMEOUT_SECONDS)
    try:
        connection.request(method, path, json.dumps(wish) if wish else None, headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    except (OSError, HTTPException, ValueError):
        return None, {}
    finally:
        connection.close()


_COLUMNS: Final[Columns] = {
    "NODE": "node_id",
    "STATE": "state",
    "ADDRESS": lambda node: f"{node['host']}:{node['port']}",
    "LEADS": "leads",
    "CONNECTIONS": "connections",
}
