"""argparse, as our commands have it: what is wrong is said in one line."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

from ottla.terminal.exit_codes import EXIT_USAGE, fail

if TYPE_CHECKING:
    from pathlib import Path


class Parser(argparse.ArgumentParser):
    """argparse, saying what is wrong in one line."""

    @property
    def options(self) -> list[argparse.Action]:
        """What can be given by name."""
        return [action for action in self._actions if action.option_strings]

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Refuses what is not known, so that the command itself does, and names its own help."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown

    def error(self, message: str) -> NoReturn:
        self.exit(fail(f"{message}; `{self.prog} --help` shows what can be given", EXIT_USAGE))


def to_path(text: str) -> Path:
    """What an option for a path is read by. `pathlib` takes its time to load, so a start without paths does without."""
    from pathlib import Path

    return Path(text)
