"""argparse for the commands: an error is one line."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

from ottla.terminal.exit_codes import EXIT_USAGE, fail
from ottla.text.nearest import may_mean, nearest

if TYPE_CHECKING:
    from pathlib import Path


class Parser(argparse.ArgumentParser):
    """argparse with errors of one line."""

    @property
    def options(self) -> list[argparse.Action]:
        """The actions that are options; the others are positional arguments."""
        return [action for action in self._actions if action.option_strings]

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Refuse unknown arguments here, so that the error names the help of the command itself."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._meant(unknown[0])}")
        return options, unknown

    def _meant(self, word: str) -> str:
        known = [name[2:] for action in self.options for name in action.option_strings if name.startswith("--")]
        meant = may_mean(word[2:].partition("=")[0], known) if word.startswith("--") else None
        return "" if meant is None else f"; did you mean --{meant}?"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """For a word that is not a choice, name the nearest one; argparse's own sentence differs by version."""
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(
                action, f"there is no {value}; {nearest(str(value), map(str, action.choices))}"
            )

    def error(self, message: str) -> NoReturn:
        end = "" if message.endswith("?") else ";"
        self.exit(fail(f"{message}{end} `{self.prog} --help` shows what can be given", EXIT_USAGE))


def to_path(text: str) -> Path:
    """Reads an option for a path. `pathlib` is slow to load, so a start without paths does without."""
    from pathlib import Path

    return Path(text)
