"""Asking the control API of a broker, for the commands that do: their options, and what can be wrong."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any, Final

from ottla.cli import control_token
from ottla.terminal.exit_codes import EXIT_MACHINE, EXIT_USAGE, fail

if TYPE_CHECKING:
    from ottla.cluster.address import Address
    from ottla.terminal.output import Item

#: A node that is stopped in an orderly way waits for its clients to take their answers.
_TIMEOUT_SECONDS: Final = 30.0


def add_options(parser: argparse.ArgumentParser, *, is_repeated: bool = False) -> None:
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


def ask(options: argparse.Namespace, method: str, path: str, wish: Item | None = None) -> Item | int:
    """The answer; or the exit code, when what is wrong has been said."""
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
        return fail(answer["error"], EXIT_USAGE if status == HTTPStatus.BAD_REQUEST else EXIT_MACHINE)
    item: Item = answer
    return item


def _ask(address: Address, token: str | None, method: str, path: str, wish: Item | None) -> tuple[int | None, Any]:
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
