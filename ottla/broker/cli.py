"""The command line: `ottla serve`, and small commands for people at a terminal.

Exit codes: 0 fine, 1 the machine refused (a busy port, an unusable directory), 2 what the user wrote can't be used.
Imports here are few: what a subcommand needs it imports itself, for `serve` has to be up in a blink.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla import __version__

if TYPE_CHECKING:
    from ottla.broker.server import Server

EXIT_MACHINE: Final = 1
EXIT_USAGE: Final = 2


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command == "serve":
        return _serve(options)
    parser.print_help()
    return EXIT_USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ottla", description="The Kafka stand-in.")
    parser.add_argument("--version", action="version", version=f"ottla {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    serve = commands.add_parser("serve", help="run a broker", description="Run a broker until SIGINT or SIGTERM.")
    option = serve.add_argument
    option("--listen", metavar="HOST:PORT", default="127.0.0.1:9092", help="where to accept; port 0 picks a free one")
    option("--advertise", metavar="HOST:PORT", help="what clients are told to connect to (default: --listen)")
    option("--nodes", metavar="N", type=int, default=1, help="brokers in one process; node i listens on port + i")
    option("--config", metavar="FILE", type=Path, help="settings from a server.properties")
    option("--set", metavar="KEY=VALUE", action="append", default=[], help="one setting; may be repeated")
    option("--clock", choices=("system", "virtual"), default="system", help="virtual: time stands still until told")
    option("--log-level", choices=("debug", "info", "warning", "error"), default="info")
    option("--log-format", choices=("console", "json"), help="default: console on a terminal, else json")
    return parser


def _serve(options: argparse.Namespace) -> int:
    from ottla.broker.config import ConfigError, Settings
    from ottla.broker.log import configure
    from ottla.broker.server import Address, MachineRefused, Server

    log = configure(options.log_level, options.log_format or ("console" if sys.stderr.isatty() else "json"))
    try:
        properties = options.config.read_text() if options.config else ""
        settings = Settings.read(properties, options.set)
        server = Server(
            settings,
            listen=Address.parse(options.listen, "--listen"),
            advertise=Address.parse(options.advertise, "--advertise") if options.advertise else None,
            node_count=options.nodes,
            log=log,
        )
        for name in settings.unknown:
            log.warning("setting.ignored", setting=name, reason="not a setting of this broker")
        _run(server)
    except OSError as error:
        return _fail(f"cannot read {error.filename}: {error.strerror}", EXIT_USAGE)
    except ConfigError as error:
        return _fail(str(error), EXIT_USAGE)
    except MachineRefused as error:
        return _fail(str(error), EXIT_MACHINE)
    return 0


def _run(server: Server) -> None:
    """Run the server on uvloop until a signal; the second signal ends the process at once."""
    import asyncio

    import uvloop

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        signals_seen = 0

        def on_signal() -> None:
            nonlocal signals_seen
            signals_seen += 1
            if signals_seen > 1:
                os._exit(EXIT_MACHINE)
            server.stop()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, on_signal)
        await server.run(on_ready=lambda: print(f"ottla ready bootstrap={server.bootstrap}", flush=True))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve())


def _fail(text: str, exit_code: int) -> int:
    print(f"ottla: {text}", file=sys.stderr)
    return exit_code
