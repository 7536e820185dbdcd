"""`ottla fault`: what is to go wrong in a running Ottla, and how often it has; `set`, `remove` and `clear` change it.

    ottla fault set Produce topic=orders answer=NOT_ENOUGH_REPLICAS times=1
    ottla fault set Heartbeat group=kitchen cut.after_bytes=17 cut.reset=true

The words are those of docs/faults.md; the broker reads them, and says what makes no sense.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from typing import Any, Final

from ottla.cli import control_client
from ottla.terminal.exit_codes import EXIT_USAGE, fail
from ottla.terminal.output import Columns, Item, print_json, print_table


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "fault",
        help="make requests fail in a running Ottla, and see how often they did",
        description="List, set and remove the faults of a running Ottla, through its control API.",
        allow_abbrev=False,
    )
    control_client.add_options(parser)
    parser.set_defaults(run=_list)
    actions = parser.add_subparsers(metavar="ACTION", title="actions (default: list)")
    add = partial(_add_action, actions)
    add("list", _list, "every fault, and how often it has happened")
    setting = add("set", _set, "have something go wrong")
    setting.add_argument(
        "words",
        metavar="WORD",
        nargs="+",
        help="an API such as Produce; an aim such as topic=orders; what happens, such as answer=NOT_CONTROLLER or "
        "drop_answer; how often, such as times=2: see docs/faults.md",
    )
    removing = add("remove", _remove, "remove a fault")
    removing.add_argument("fault_id", metavar="ID", type=int)
    add("clear", _clear, "remove all faults, and let go all that is held")


def _add_action(actions: Any, name: str, run: Any, does: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=does, description=f"{does.capitalize()}.", allow_abbrev=False
    )
    control_client.add_options(parser, is_repeated=True)
    parser.set_defaults(run=run)
    return parser


def _list(options: argparse.Namespace) -> int:
    return _show(options, control_client.ask(options, "GET", "/faults"))


def _set(options: argparse.Namespace) -> int:
    try:
        wish = read_words(options.words)
    except ValueError as error:
        return fail(str(error), EXIT_USAGE)
    return _show(options, control_client.ask(options, "POST", "/faults", wish))


def _remove(options: argparse.Namespace) -> int:
    return _show(options, control_client.ask(options, "DELETE", f"/faults/{options.fault_id}"))


def _clear(options: argparse.Namespace) -> int:
    return _show(options, control_client.ask(options, "DELETE", "/faults"))


def _show(options: argparse.Namespace, answer: Item | int) -> int:
    if isinstance(answer, int):
        return answer
    faults = answer.get("faults", [answer])
    print_json(faults) if options.json else print_table(faults, _COLUMNS)
    return 0


def read_words(words: list[str]) -> Item:
    """What these words ask for. Raises `ValueError`.

    A word with a capital is an API, any other says that it is so; after a = stands JSON, or else a text. With a dot it
    is an argument: cut.after_bytes=17.
    """
    wish: Item = {}
    for word in words:
        name, is_said, text = word.partition("=")
        if not is_said and name[:1].isupper():
            wish.setdefault("api", []).append(name)
            continue
        verb, _, argument = name.partition(".")
        value = _value(name, text) if is_said else True
        if not argument:
            wish[verb] = value
        elif isinstance(arguments := wish.setdefault(verb, {}), dict):
            arguments[argument] = value
        else:
            raise ValueError(f"{verb} and {name} are both said; leave one of them out")
    return wish


def _value(name: str, text: str) -> object:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if isinstance(value, float) and name != "probability" else value  # pose_as=3.9 is a name


_COLUMNS: Final[Columns] = {
    "ID": "fault_id",
    "HITS": "hits",
    "SPENT": "is_spent",
    "FAULT": "fault",
}
