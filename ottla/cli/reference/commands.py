"""docs/command-line.md: every command and every option, as `--help` has them.

argparse formats its help for the width of a terminal, and each Python does it in its own way. The page is made of what
the parsers hold, so it is the same everywhere.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final

from ottla.cli import make_parser
from ottla.text import markdown

_HEAD: Final = """\
<!-- Printed from the command line's parsers by `make docs`; change it there. -->

# Command line

`ottla COMMAND --help` shows the same in a terminal.

- Answers go to stdout, as a table, or as JSON with `--json`. Everything else goes to stderr.
- The exit code is 0 for success, 1 for a failure of the machine or the network (a busy port, no answer), and 2 for a
  command line that can't be used. One line on stderr says what to do.
- `topics`, `groups`, `transactions` and `pipeline` work with any Kafka. `nodes`, `fault`, `wait`, `reset` and `events`
  talk to the [control API](control.md) of a running Ottla.

"""
#: Its jobs have parsers of their own.
_PIPELINE: Final = "ottla pipeline"
_PIPELINE_HELP: Final = "See [pipeline.md](pipeline.md); `ottla pipeline JOB --help` shows the options of a job."


def commands_page() -> str:
    """The whole page."""
    parser = make_parser()
    rows = [(f"[`{command.prog}`](#{_anchor(command.prog)})", told) for command, told in _commands_of(parser)]
    sections = [_section(command, told, depth=2) for command, told in _commands_of(parser)]
    return _HEAD + "\n\n".join([markdown.table(("Command", "What it does"), rows).rstrip(), *sections]) + "\n"


def _section(parser: argparse.ArgumentParser, told: str, depth: int) -> str:
    """A command with its arguments, and its actions below it."""
    parts = [f"{'#' * depth} {parser.prog}", _sentence(parser.description or told)]
    if parser.prog == _PIPELINE:
        return "\n\n".join([*parts, _PIPELINE_HELP])
    if rows := list(_arguments(parser)):
        parts.append(markdown.table(("Argument", "What it is for"), rows).rstrip())
    return "\n\n".join([*parts, *(_section(action, said, depth + 1) for action, said in _commands_of(parser))])


def _commands_of(parser: argparse.ArgumentParser) -> Iterator[tuple[argparse.ArgumentParser, str]]:
    """The parsers below this one, and the line that tells of each."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                yield action.choices[choice.dest], choice.help or ""


def _arguments(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """What may be given, and what for."""
    formatter = argparse.HelpFormatter(parser.prog)
    for action in parser._actions:
        if isinstance(action, (argparse._SubParsersAction, argparse._HelpAction)) or action.help == argparse.SUPPRESS:
            continue
        yield f"`{_spelled(action)}`", formatter._expand_help(action) if action.help else ""


def _spelled(action: argparse.Action) -> str:
    """An option with its value, or the name of an argument."""
    name = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    value = " ".join(name) if isinstance(name, tuple) else name
    if not action.option_strings:
        return f"[{value}]" if action.nargs in ("?", "*") else value
    flags = ", ".join(action.option_strings)
    return flags if action.nargs == 0 else f"{flags} {value}"


def _sentence(text: str) -> str:
    words = " ".join(text.split())
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith(('.', ':')) else '.'}"


def _anchor(title: str) -> str:
    """As GitHub makes them."""
    return title.replace(" ", "-")
