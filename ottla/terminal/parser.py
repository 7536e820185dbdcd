"""argparse, as our commands have it: what is wrong is said in one line."""

from __future__ import annotations

import argparse
from typing import NoReturn

from ottla.terminal.exit_codes import EXIT_USAGE, fail


class Parser(argparse.ArgumentParser):
    """argparse, saying what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(fail(f"{message}; `{self.prog} --help` shows what can be given", EXIT_USAGE))
