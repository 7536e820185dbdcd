"""`ottla serve`: run a broker until SIGINT, SIGTERM or SIGHUP.

stdout gets one line, when every socket accepts:

    ottla ready bootstrap=127.0.0.1:9092 nodes=3 control=http://127.0.0.1:9644

`bootstrap` is the first node, which tells clients of the others. It is that of the first listener; further ones follow
as `listener.host=127.0.0.1:29092`, for one called HOST. Everything else goes to stderr.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

from ottla.cli import control_token
from ottla.terminal.exit_codes import EXIT_MACHINE, EXIT_USAGE, fail
from ottla.terminal.output import print_line
from ottla.terminal.parser import to_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from ottla.broker.lifecycle.server import Server
    from ottla.cli.environment import Environment
    from ottla.control.attached.controlled_broker import ControlledBroker
    from ottla.events.stream import Event, Stream

#: How many open files are asked for where the hard limit is "unlimited" and the kernel has a lower one of its own.
_OPEN_FILES_WANTED: Final = (1_048_576, 65_536, 10_240)
_STDERR: Final = 2
#: What holds where neither the command line nor the environment says anything, and an option is `None`.
_DEFAULTS: Final = {"nodes": 1, "clock": "system", "log_level": "info"}


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "serve",
        help="run a broker",
        description="Run a broker until SIGINT, SIGTERM or SIGHUP.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    make_help = parser.format_help
    parser.format_help = lambda: f"{make_help()}\n{_settings_help()}"
    _add_nodes(parser.add_argument)
    _add_settings(parser.add_argument)
    parser.add_argument(
        "--control", metavar="HOST:PORT", help="the address of the HTTP API for scripts: nodes, groups, time, faults"
    )
    control_token.add_options(parser)
    _add_output(parser.add_argument)
    parser.set_defaults(run=partial(run, parser.options))


def _add_nodes(option: Callable[..., object]) -> None:
    option(
        "--listen",
        metavar="[NAME[:PROTOCOL]://]HOST:PORT",
        action="append",
        default=[],
        help="where to listen (default: 127.0.0.1:9092); port 0 takes a free port; repeat it with another name for a "
        "second listener",
    )
    option(
        "--advertise",
        metavar="[NAME://]HOST:PORT",
        action="append",
        default=[],
        help="the address that clients of this listener get (default: --listen); repeat it for each listener",
    )
    option(
        "--nodes",
        metavar="N",
        type=int,
        help="the number of brokers that clients see (default: 1), on consecutive ports",
    )


def _add_settings(option: Callable[..., object]) -> None:
    option("--data-dir", metavar="DIR", type=to_path, help="keep everything in this directory (default: in memory)")
    option("--config", metavar="FILE", type=to_path, help="settings from a file like Kafka's server.properties")
    option(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="one setting; overrides the file; may be repeated",
    )
    option(
        "--from-environment",
        action="store_true",
        default=None,
        help="take options from OTTLA_... and settings from KAFKA_... variables, as Kafka's container images do",
    )
    option(
        "--clock",
        choices=("system", "virtual", "auto"),
        help="virtual: time stands still until --control moves it; auto: like virtual, but time jumps to the next "
        "deadline when every client waits (default: system)",
    )
    option(
        "--seed",
        metavar="FILE",
        type=to_path,
        help="start with the topics, records and offsets of this file; ignored if there are topics",
    )


def _add_output(option: Callable[..., object]) -> None:
    option(
        "--journal",
        metavar="FILE",
        type=to_path,
        help="append the events of groups, with causes, to this file, as JSON lines",
    )
    option(
        "--record-requests",
        action="store_true",
        default=None,
        help="keep the last requests and answers, for GET /requests",
    )
    option(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        help="the lowest level that is logged, on stderr (default: info)",
    )
    option("--log-format", choices=("console", "json"), help="default: console on a terminal, else json")
    option(
        "--ready-file",
        metavar="FILE",
        type=to_path,
        help="when every socket accepts, write the addresses of all nodes to this file: for a health check",
    )


def run(actions: Iterable[argparse.Action], options: argparse.Namespace) -> int:
    """Serve until told to stop; returns the exit code. `actions`: the options there are."""
    _hold_standard_streams()
    for number in _end_signals():
        signal.signal(number, _nothing_to_end)
    from ottla.broker.lifecycle.platform import Platform
    from ottla.broker.lifecycle.server import Server
    from ottla.broker.network.endpoints import read_endpoints
    from ottla.broker.reporting.line_writer import LineWriter
    from ottla.broker.reporting.structured_log import make_log
    from ottla.broker.upkeep.collector import set_aside, spare_what_lives
    from ottla.cluster.address import MachineRefused
    from ottla.events.kind import Kind
    from ottla.purgatory import SystemClock, VirtualClock
    from ottla.settings.settings import ConfigError, Settings

    lines = LineWriter(_STDERR, lambda count: server.events.tell_soon(Kind.LOG_LINES_DROPPED, lines=count))
    try:
        said = _ask_environment(actions, options)
        settings = Settings.read(_read(options.config), options.set, said.settings if said else {})
        if said:
            options.listen, options.advertise = said.listeners(settings, options.listen, options.advertise)
        server = Server(
            settings,
            endpoints=read_endpoints(settings, options.listen, options.advertise),
            node_count=options.nodes,
            platform=Platform(clock=SystemClock() if options.clock == "system" else VirtualClock()),
            journal=options.journal,
            data_dir=options.data_dir,
            log=make_log(options.log_level, options.log_format, lines.write),
        )
        controlled = _attach_control(server, options)
        # What groups hold after a restart is there to stay: a full collection, which would halt all clients for some
        # milliseconds, need not look at it.
        server.events.read(lambda _event: set_aside(), [Kind.GROUPS_LOADED])
        _tell_of_first_wait(server.events)
        spare_what_lives()
        _raise_open_files_limit()
        _run_until_signal(server, on_ready=lambda: _begin_to_serve(server, controlled, options, said))
        if options.ready_file is not None:
            options.ready_file.unlink(missing_ok=True)
    except ConfigError as error:
        return fail(str(error), EXIT_USAGE)
    except MachineRefused as error:
        return fail(str(error), EXIT_MACHINE)
    finally:
        lines.close()
    return 0


def _attach_control(server: Server, options: argparse.Namespace) -> ControlledBroker | None:
    """Attach what is asked for of --seed, --clock auto and --control. None: nothing is, and nothing of it is loaded."""
    token, jumps = control_token.read_for_broker(options), options.clock == "auto"
    if not (options.control or options.seed or jumps):
        return None
    from ottla.control.attached.controlled_broker import AUTOJUMP_THRESHOLD_MS, ControlledBroker

    broker = ControlledBroker(server, seed=options.seed, autojump_threshold_ms=AUTOJUMP_THRESHOLD_MS if jumps else None)
    if options.control:
        from ottla.cluster.address import Address
        from ottla.control.api.attachment import ControlApi

        server.attach(ControlApi(broker, Address.parse(options.control, "--control"), token))
    return broker


def _ask_environment(actions: Iterable[argparse.Action], options: argparse.Namespace) -> Environment | None:
    """What the environment says, if it is asked; and options without a word get their values."""
    said = None
    if options.from_environment or "OTTLA_FROM_ENVIRONMENT" in os.environ:
        from ottla.cli.environment import read_environment

        said = read_environment(options, actions)
    for name, default in _DEFAULTS.items():
        if getattr(options, name) is None:
            setattr(options, name, default)
    return said


def _hold_standard_streams() -> None:
    """Open what is closed of stdin, stdout and stderr, or a socket would get its number, which libuv can't bear."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(descriptor)


def _end_signals() -> list[int]:
    """The signals that end the broker in order: Kafka's (LoggingSignalHandler), as far as the system has them.

    SIGHUP stays ignored where it is: `nohup` is there to outlive the terminal.
    """
    signals = [signal.SIGINT, signal.SIGTERM]
    hang_up: signal.Signals | None = getattr(signal, "SIGHUP", None)
    if hang_up is not None and signal.getsignal(hang_up) is not signal.SIG_IGN:
        signals.append(hang_up)
    return [*signals]


def _nothing_to_end(_number: int, _frame: object) -> NoReturn:
    """A signal before anything has begun."""
    raise SystemExit(0)


def _read(path: Path | None) -> str:
    from ottla.cluster.address import MachineRefused
    from ottla.settings.settings import ConfigError

    try:
        return path.read_text(encoding="utf-8") if path else ""
    except OSError as error:
        raise MachineRefused(f"--config: cannot read {path}: {error.strerror}; name a file that can be read") from None
    except UnicodeDecodeError:
        raise ConfigError(f"--config: {path} is not text in UTF-8; write name=value lines") from None


def _raise_open_files_limit() -> None:
    """Take all the open files the system allows: each connection is one."""
    try:
        import resource
    except ImportError:  # no such limit here
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in _OPEN_FILES_WANTED if hard == resource.RLIM_INFINITY else (hard,):
        if limit > soft:
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
                return


def _run_until_signal(server: Server, on_ready: Callable[[], None]) -> None:
    """Run the server until a signal; the second signal ends the process at once."""
    import asyncio

    from ottla.broker.lifecycle.event_loop import new_event_loop
    from ottla.broker.reporting.loop_errors import tell_loop_errors
    from ottla.events.kind import Kind

    def stop(number: int) -> None:
        server.events.tell(Kind.BROKER_STOP_REQUESTED, signal=signal.Signals(number).name)
        server.stop()

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        tell_loop_errors(loop, server.events)
        signals_seen = 0

        def on_signal(number: int, _frame: object) -> None:
            """Python's own way of signals, not the loop's, which may be held by what the second is to end."""
            nonlocal signals_seen
            signals_seen += 1
            if signals_seen > 1:
                os._exit(EXIT_MACHINE)
            loop.call_soon_threadsafe(stop, number)

        for number in _end_signals():
            signal.signal(number, on_signal)
        await server.run(on_ready)
        server.events.tell(Kind.BROKER_STOPPED)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(serve())


def _tell_of_first_wait(events: Stream) -> None:
    """Say once that a group waits for more members, and what turns that off: a new user takes it for slowness."""
    from ottla.events.kind import Kind

    def look(event: Event) -> None:
        if (delay_ms := event.details.get("delay_ms")) is None:
            return
        stop()
        events.tell(
            Kind.GROUP_DELAY_BEGUN,
            group_id=event.details["group_id"],
            delay_ms=delay_ms,
            reason="an empty group waits this long for more members before its first rebalance, as in Kafka; "
            "--set group.initial.rebalance.delay.ms=0 turns this off",
        )

    stop = events.read(look, [Kind.GROUP_REBALANCE_STARTED])


def _begin_to_serve(
    server: Server, controlled: ControlledBroker | None, options: argparse.Namespace, said: Environment | None
) -> None:
    from ottla.events.kind import Kind

    if controlled is not None and options.record_requests:
        controlled.record_requests()
    for variable, reason in said.ignored if said else ():
        server.events.tell(Kind.SETTING_IGNORED, setting=variable, reason=reason)
    if options.ready_file is not None:
        _write_ready_file(server, options.ready_file)
    _tell_ready(server, controlled.control_url if controlled else None, options.clock)


def _write_ready_file(server: Server, path: Path) -> None:
    """Where the first listener of each node can be asked from this machine, one a line."""
    from ottla.cluster.address import MachineRefused

    listens = [next(iter(node.listens.values())) for node in server.nodes]
    try:
        path.write_text("".join(f"{address.from_here}\n" for address in listens), encoding="utf-8")
    except OSError as error:
        raise MachineRefused(
            f"--ready-file: cannot write {path}: {error.strerror}; name a file in a directory that can be written"
        ) from None


def _unknown(name: str) -> str:
    """Why a setting is ignored, and which one may have been meant."""
    from ottla.settings.table import all_settings
    from ottla.text.nearest import nearest

    return f"neither Ottla nor Kafka has a setting of this name; {nearest(name, all_settings())}"


def _tell_ready(server: Server, control_url: str | None, clock: str) -> None:
    """Log what there is to say about settings and clock, and print the ready line. Every socket accepts."""
    from ottla.events.kind import Kind

    events, settings = server.events, server.settings
    for name in settings.unknown:
        events.tell(Kind.SETTING_IGNORED, setting=name, reason=_unknown(name))
    for name in settings.without_effect:
        events.tell(Kind.SETTING_STORED, setting=name, reason="Kafka has it, and nothing goes by it here")
    if clock == "virtual" and control_url is None:
        events.tell(Kind.CLOCK_STOPPED, reason="time stands still, and without --control nobody can move it")
    first, *others = server.nodes[0].addresses.items()
    words = [f"bootstrap={first[1]}"]
    words += [f"listener.{name.lower()}={address}" for name, address in others]
    if len(server.addresses) > 1:
        words.append(f"nodes={len(server.addresses)}")
    if control_url is not None:
        words.append(f"control={control_url}")
    if server.data_dir is not None:
        words.append(f"data_dir={server.data_dir}")
    try:
        print_line(" ".join(("ottla ready", *words)), flush=True)
    except BrokenPipeError:  # the process that started us does not listen any more; clients may
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _settings_help() -> str:
    """The settings this broker goes by, with defaults and units."""
    from ottla.settings.table import SETTINGS
    from ottla.settings.text import default_with_unit

    rows = [(setting.name, default_with_unit(setting), setting.meaning) for setting in SETTINGS.values()]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"  {name:{widths[0]}}  {default:{widths[1]}}  {meaning}" for name, default, meaning in rows]
    return "\n".join(["settings for --set and --config, with their defaults:", *lines, ""])
