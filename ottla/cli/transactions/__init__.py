"""`ottla transactions`: the transactions of any Kafka; which of them hang, and how to end them.

    questions.py    what is asked, and what is made of the answers
    tables.py       how they are shown

The actions are those of Kafka's own tool, and their options have the names they have there.
Kafka: org.apache.kafka.tools.TransactionsCommand.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ottla.cli.admin import add_options
from ottla.terminal.exit_codes import EXIT_USAGE, fail
from ottla.terminal.output import Item, print_json

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from ottla.cli.cluster import ContactedCluster

#: Kafka's tool has the same: what brokers allow by default.
_TIMEOUT_MINUTES_DEFAULT: Final = 15


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "transactions",
        help="list transactions, find hanging ones, and end them",
        description="The transactions of any Kafka. A hanging transaction is open in a partition, but no coordinator "
        "knows it. So it never ends, and readers of committed records can't read beyond it.",
        allow_abbrev=False,
    )
    add_options(parser)
    parser.set_defaults(run=_run_list, state=[], producer_id=[], duration_filter=-1, transactional_id_pattern=None)
    actions = parser.add_subparsers(metavar="ACTION", title="actions (default: list)")
    for add in (_add_list, _add_describe, _add_producers, _add_hanging, _add_abort, _add_terminate):
        add(actions)


def _action(actions: Any, name: str, help_: str, run: Callable[[argparse.Namespace], int], about: str = "") -> Any:
    description = about or f"{help_[0].upper()}{help_[1:]}."
    action = actions.add_parser(name, help=help_, description=description, allow_abbrev=False)
    add_options(action, is_repeated=True)
    action.set_defaults(run=run)
    return action.add_argument


def _add_list(actions: Any) -> None:
    option = _action(actions, "list", "every transactional id, its coordinator, its state", _run_list)
    option("--state", action="append", default=[], help="only this state, such as Ongoing; may be repeated")
    option(
        "--producer-id", action="append", type=int, default=[], metavar="ID", help="only this producer; may be repeated"
    )
    option(
        "--duration-filter", type=int, default=-1, metavar="MS",
        help="open for more than this many milliseconds; an id without an open transaction counts as open since 1970",
    )  # fmt: skip
    option(
        "--transactional-id-pattern", metavar="PATTERN",
        help="ids that match this regular expression as a whole, in RE2's syntax (Kafka 4.1 and later)",
    )  # fmt: skip


def _add_describe(actions: Any) -> None:
    option = _action(actions, "describe", "transactional ids: state, timeout, start, partitions", _run_describe)
    option("ids", nargs="+", metavar="TRANSACTIONAL_ID")


def _add_place(option: Any, *, is_required: bool) -> None:
    option("--topic", required=is_required, metavar="NAME")
    option("--partition", type=int, required=is_required, metavar="NUMBER")


def _add_producers(actions: Any) -> None:
    about = "Every producer that a partition remembers. TXN START is where its open transaction begins."
    option = _action(actions, "describe-producers", "the producers that a partition remembers", _run_producers, about)
    _add_place(option, is_required=True)
    option("--broker-id", type=int, metavar="ID", help="ask this replica (default: the leader)")


def _add_hanging(actions: Any) -> None:
    about = (
        "Find transactions that are open in a partition for too long, and unknown to every coordinator. "
        "`ottla transactions abort` ends them."
    )
    option = _action(actions, "find-hanging", "transactions that will never end", _run_hanging, about)
    option("--topic", metavar="NAME", help="only this topic")
    option("--partition", type=int, metavar="NUMBER", help="only this partition of --topic")
    option("--broker-id", type=int, metavar="ID", help="only the replicas of this broker (default: all leaders)")
    option(
        "--max-transaction-timeout", type=int, default=_TIMEOUT_MINUTES_DEFAULT, metavar="MINUTES",
        help=f"transaction.max.timeout.ms of the brokers, in minutes (default: {_TIMEOUT_MINUTES_DEFAULT})",
    )  # fmt: skip


def _add_abort(actions: Any) -> None:
    about = (
        "Write an abort marker into a partition, as a coordinator would. Give the transaction's start offset or, for "
        "a Kafka older than 3.0, its producer. Use it only for a hanging transaction."
    )
    option = _action(actions, "abort", "end a transaction that hangs in a partition", _run_abort, about)
    _add_place(option, is_required=True)
    option("--start-offset", type=int, metavar="OFFSET", help="where the transaction starts, as shown by find-hanging")
    option("--producer-id", type=int, metavar="ID")
    option("--producer-epoch", type=int, metavar="EPOCH")
    option("--coordinator-epoch", type=int, metavar="EPOCH", help="-1 means 0")


def _add_terminate(actions: Any) -> None:
    about = (
        "Abort the open transaction of a transactional id and fence its producer, as a new producer of that id does."
    )
    option = _action(actions, "terminate", "end the transaction of a transactional id", _run_terminate, about)
    option("id", metavar="TRANSACTIONAL_ID")


def _ask(
    options: argparse.Namespace,
    question: Callable[[ContactedCluster], Awaitable[Any]],
    show: Callable[[Any], None],
) -> int:
    from ottla.cli.cluster import ask

    return ask(options, question, print_json if options.json else show)


def _run_list(options: argparse.Namespace) -> int:
    from ottla.cli.transactions import questions, tables

    wanted = questions.Wanted(
        options.state, options.producer_id, options.duration_filter, options.transactional_id_pattern
    )
    return _ask(options, lambda cluster: questions.listed(cluster, wanted), tables.print_list)


def _run_describe(options: argparse.Namespace) -> int:
    from ottla.cli.transactions import questions, tables

    return _ask(options, lambda cluster: questions.described(cluster, options.ids), tables.print_described)


def _run_producers(options: argparse.Namespace) -> int:
    from ottla.cli.transactions import questions, tables

    place = options.topic, options.partition
    return _ask(options, lambda cluster: questions.producers(cluster, place, options.broker_id), tables.print_producers)


def _run_hanging(options: argparse.Namespace) -> int:
    from ottla.cli.transactions import questions, tables

    if options.partition is not None and options.topic is None:
        return fail("--partition is given without a topic; add --topic NAME", EXIT_USAGE)
    scope = questions.Scope(options.topic, options.partition, options.broker_id)
    timeout_ms = options.max_transaction_timeout * 60_000
    return _ask(options, lambda cluster: questions.hanging(cluster, scope, timeout_ms), tables.print_hanging)


def _run_abort(options: argparse.Namespace) -> int:
    from ottla.cli.transactions import ending, tables

    place = options.topic, options.partition
    question: Callable[[ContactedCluster], Awaitable[Item]]
    if options.start_offset is not None:
        question = partial(ending.abort_at, place=place, start_offset=options.start_offset)
    elif (producer := _producer(options)) is not None:
        question = partial(ending.abort, place=place, producer=producer)
    else:
        return fail(
            "the transaction to abort is named by --start-offset OFFSET, or by all of --producer-id ID "
            "--producer-epoch EPOCH --coordinator-epoch EPOCH",
            EXIT_USAGE,
        )
    return _ask(options, question, tables.print_aborted)


def _producer(options: argparse.Namespace) -> Item | None:
    """The producer that the options name. None: not all of it."""
    named = {name: getattr(options, name) for name in ("producer_id", "producer_epoch", "coordinator_epoch")}
    return None if None in named.values() else named


def _run_terminate(options: argparse.Namespace) -> int:
    from ottla.cli.transactions import ending, tables

    return _ask(options, lambda cluster: ending.terminate(cluster, options.id), tables.print_terminated)
