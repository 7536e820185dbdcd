"""The token of the control API, as `ottla serve` and the commands that ask it are given it.

A file or the environment hide it from other users of the machine. An option can be seen in the list of processes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ottla.terminal.parser import to_path

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

VARIABLE: Final = "OTTLA_CONTROL_TOKEN"


def add_options(parser: argparse.ArgumentParser, default: object = None) -> None:
    """Add the two options."""
    parser.add_argument(
        "--control-token",
        metavar="TOKEN",
        default=default,
        help=f"the token for the control API (default: ${VARIABLE})",
    )
    parser.add_argument(
        "--control-token-file",
        metavar="FILE",
        type=to_path,
        default=default,
        help="a file with the token; with it the list of processes does not show the token",
    )


def read(options: argparse.Namespace) -> str | None:
    """The token; None: there is none. Raises `ConfigError` and `MachineRefused`, neither of which repeats it."""
    from ottla.settings.settings import ConfigError

    token: str | None
    if options.control_token_file is not None:
        if options.control_token is not None:
            raise ConfigError("--control-token and --control-token-file are both given; leave one of them out")
        source, token = f"--control-token-file {options.control_token_file}", _read_file(options.control_token_file)
    elif options.control_token is not None:
        source, token = "--control-token", options.control_token
    else:
        source, token = VARIABLE, os.environ.get(VARIABLE)
    if token is not None and not (token and all("!" <= character <= "~" for character in token)):
        raise ConfigError(f"{source} has no token; one is made of ASCII letters, digits and signs, without blanks")
    return token


def read_for_broker(options: argparse.Namespace) -> str | None:
    """The token of the control API that is to be served. The environment may have one for other commands."""
    from ottla.settings.settings import ConfigError

    if options.control is None:
        for option in ("--control-token-file", "--control-token"):
            if getattr(options, option[2:].replace("-", "_")) is not None:
                raise ConfigError(f"{option} without --control does nothing; add --control HOST:PORT, or leave it out")
        return None
    return read(options)


def _read_file(path: Path) -> str:
    from ottla.cluster.address import MachineRefused

    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        raise MachineRefused(
            f"--control-token-file: cannot read {path}: {error.strerror}; name a file that can be read"
        ) from None
