"""`ottla log dump`: what is in the files of a log, as Kafka's own tool tells it. Needs no broker.

The options have the tool's names. Files of `__consumer_offsets` and `__transaction_state` are recognised by their
directory, and their records are decoded without an option.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ottla.terminal.exit_codes import EXIT_MACHINE, EXIT_USAGE, fail
from ottla.terminal.output import print_line

if TYPE_CHECKING:
    from ottla.log.dump import DumpLine
    from ottla.log.dump.batches import Show
    from ottla.log.dump.committed import CommittedBatches
    from ottla.log.dump.values import RecordTypes
    from ottla.protocol.records import BatchHeader

_ALL = "read_uncommitted"
_SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser("log", help="print the files of a log", allow_abbrev=False)
    inner = parser.add_subparsers(dest="log_command", metavar="COMMAND", required=True)
    dump = inner.add_parser(
        "dump",
        help="print batches and records",
        description="Print the content of the files of a log, and any damage. A directory stands for all files in "
        "it. Exit code 1: something is damaged.",
        allow_abbrev=False,
    )
    dump.add_argument("files", nargs="*", metavar="FILE", help="a .log, .index, .timeindex, .txnindex or .snapshot")
    dump.add_argument(
        "--files", dest="more_files", default="", metavar="FILE,FILE", help="the same, separated by commas"
    )
    dump.add_argument("--deep-iteration", action="store_true", help="a line for each record")
    dump.add_argument("--print-data-log", action="store_true", help="also keys and values")
    dump.add_argument("--offsets-decoder", action="store_true", help="decode records as those of __consumer_offsets")
    dump.add_argument(
        "--transaction-log-decoder", action="store_true", help="decode records as those of __transaction_state"
    )
    dump.add_argument("--skip-record-metadata", action="store_true", help="only key and value of records")
    dump.add_argument(
        "--isolation",
        choices=[_ALL, "read_committed"],
        default=_ALL,
        help="read_committed: only what such a consumer gets; no markers, no aborted or open transactions",
    )
    dump.add_argument("--max-bytes", type=_size, metavar="SIZE", help="stop after this many bytes of a .log")
    dump.add_argument("--verify-index-only", action="store_true", help="check indexes without printing them")
    dump.add_argument("--index-sanity-check", action="store_true", help="the same")
    dump.set_defaults(run=run)


def _size(text: str) -> int:
    size = int(text)
    if size < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return size


def run(options: argparse.Namespace) -> int:
    """Print the files; returns the exit code."""
    named = [*options.files, *filter(None, options.more_files.split(","))]
    if not named:
        return fail("no files are named; add for example data/orders-0/00000000000000000000.log", EXIT_USAGE)
    complaints = 0
    known: dict[Path, CommittedBatches] = {}
    for path in map(Path, named):
        try:
            files = _files(path)
        except OSError as error:
            complaints += fail(f"cannot read {path}: {error.strerror}", EXIT_MACHINE)
            continue
        if not files:
            complaints += fail(f"{path} has no files of a log; name the directory of a partition", EXIT_MACHINE)
        complaints += sum(_dump(file, options, known) for file in files)
    return EXIT_MACHINE if complaints else 0


def _files(path: Path) -> list[Path]:
    """The file itself, or those in the directory. Raises `OSError` where there is none."""
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES)
    path.stat()  # a missing file is not a damaged one
    return [path]


def _dump(file: Path, options: argparse.Namespace, known: dict[Path, CommittedBatches]) -> int:
    """Print one file; returns how many complaints there are about it."""
    print_line(f"Dumping {file}")
    complaints = 0
    lines = _lines(file, options, known)
    while True:
        try:
            line = next(lines, None)
        except OSError as error:
            return complaints + fail(f"cannot read {error.filename or file}: {error.strerror}", EXIT_MACHINE)
        if line is None:
            return complaints
        print_line(line.text)
        complaints += line.is_complaint


def _lines(path: Path, options: argparse.Namespace, known: dict[Path, CommittedBatches]) -> Iterator[DumpLine]:
    """What there is to say about one file."""
    from ottla.log.dump import DAMAGED, DumpLine, batches, indexes

    shows_entries = not (options.verify_index_only or options.index_sanity_check)
    base_offset = batches.first_offset_of(path.name)
    match path.suffix:
        case ".log":
            if base_offset is not None:
                yield DumpLine(f"Log starting offset: {base_offset}")
            with path.open("rb") as file:
                show = _show(path, options, _visible(path, options, known))
                yield from batches.batch_lines(batches.LogFile(file), str(path), show)
        case ".index":
            yield from indexes.index_lines(path, base_offset or 0, shows_entries=shows_entries)
        case ".timeindex":
            yield from indexes.time_index_lines(path, base_offset or 0, shows_entries=shows_entries)
        case ".txnindex":
            yield from indexes.aborted_lines(path)
        case ".snapshot":
            yield from indexes.snapshot_lines(path)
        case suffix:
            yield DumpLine(f"{DAMAGED}: a file that ends in {suffix or path.name} is none of a log", True)


def _show(path: Path, options: argparse.Namespace, is_visible: Callable[[BatchHeader], bool]) -> Show:
    from ottla.log.dump.batches import Show

    decodes = options.offsets_decoder or options.transaction_log_decoder
    shows_data = options.print_data_log or options.skip_record_metadata or decodes
    return Show(
        records=options.deep_iteration or shows_data,
        data=shows_data,
        types=_types(path, options),
        metadata=not options.skip_record_metadata,
        bytes_max=options.max_bytes,
        is_visible=is_visible,
    )


def _visible(
    path: Path, options: argparse.Namespace, known: dict[Path, CommittedBatches]
) -> Callable[[BatchHeader], bool]:
    """Which batches of this file are shown. `known`: what is known of logs, by their directories."""
    if options.isolation == _ALL:
        return lambda _: True
    from ottla.log.dump.batches import first_offset_of
    from ottla.log.dump.committed import CommittedBatches, segments_in

    if first_offset_of(path.name) is None:
        return CommittedBatches([path]).has  # it was copied from somewhere
    if path.parent not in known:
        known[path.parent] = CommittedBatches(segments_in(path.parent))
    return known[path.parent].has


def _types(path: Path, options: argparse.Namespace) -> RecordTypes | None:
    """How to decode records: as the options say, or as the directory's name tells."""
    from ottla.cluster.topic_names import GROUP_TOPIC, TRANSACTION_TOPIC
    from ottla.log.dump.values import OFFSETS, TRANSACTIONS

    topic = path.absolute().parent.name.rpartition("-")[0]
    if options.offsets_decoder or (topic == GROUP_TOPIC and not options.transaction_log_decoder):
        return OFFSETS
    return TRANSACTIONS if options.transaction_log_decoder or topic == TRANSACTION_TOPIC else None
