"""Asking the control API of a broker, for the commands that do: their options, and what can be wrong."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Final

from ottla.cli import control_token
from ottla.terminal.exit_codes import EXIT_MACHINE, EXIT_USAGE, fail

if TYPE_CHECKING:
    from http.client import HTTPResponse

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
        help="the broker's control API, from its ready line (default: 127.0.0.1:9644)",
    )
    control_token.add_options(parser, default(None))
    parser.add_argument("--json", action="store_true", default=default(False), help="JSON instead of a table")


def ask(options: argparse.Namespace, method: str, path: str, wish: Item | None = None) -> Item | int:
    """The answer; or the exit code, when what is wrong has been said."""
    from http.client import HTTPException

    response = _send(options, method, path, wish)
    if isinstance(response, int):
        return response
    with response:
        try:
            item: Item = json.loads(response.read())
        except (OSError, HTTPException, ValueError):
            return _fail_unanswered(options)
    return item


def follow(options: argparse.Namespace, path: str) -> HTTPResponse | int:
    """An answer that goes on, to be read line by line; or the exit code, when what is wrong has been said."""
    return _send(options, "GET", path, None, timeout_seconds=None)


def _send(
    options: argparse.Namespace,
    method: str,
    path: str,
    wish: Item | None,
    timeout_seconds: float | None = _TIMEOUT_SECONDS,
) -> HTTPResponse | int:
    """Ask; returns the answer, whose body is still to be read, or the exit code."""
    from http import HTTPStatus
    from http.client import HTTPConnection, HTTPException

    from ottla.cluster.address import Address, MachineRefused
    from ottla.settings.settings import ConfigError

    try:
        address = Address.parse(options.control.removeprefix("http://"), "--control")
        token = control_token.read(options)
    except ConfigError as error:
        return fail(str(error), EXIT_USAGE)
    except MachineRefused as error:
        return fail(str(error), EXIT_MACHINE)
    headers = {"Content-Type": "application/json", "Connection": "close"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    connection = HTTPConnection(address.host, address.port, timeout=timeout_seconds)
    try:
        connection.request(method, path, None if wish is None else json.dumps(wish), headers)
        response = connection.getresponse()
        if response.status == HTTPStatus.OK:
            return response
        sentence = json.loads(response.read())["error"]
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        connection.close()
        return _fail_unanswered(options)
    connection.close()
    if response.status == HTTPStatus.UNAUTHORIZED:
        return fail(
            f"the control API at {address} asks for {'another' if token else 'a'} token; name the file that has it "
            f"with --control-token-file FILE, or set {control_token.VARIABLE}",
            EXIT_MACHINE,
        )
    return fail(sentence, EXIT_USAGE if response.status == HTTPStatus.BAD_REQUEST else EXIT_MACHINE)


def _fail_unanswered(options: argparse.Namespace) -> int:
    return fail(
        f"no control API answers at {options.control.removeprefix('http://')}; start a broker with "
        "`ottla serve --control HOST:PORT`, or name another one with --control",
        EXIT_MACHINE,
    )
