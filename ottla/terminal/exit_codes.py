"""How a command ends when it can't do what it should."""

from __future__ import annotations

import sys
from typing import Final

from ottla.terminal.printable import printable

#: The machine refused: a port is taken, a file can't be read, a broker does not answer.
EXIT_MACHINE: Final = 1
#: What the user wrote can't be used.
EXIT_USAGE: Final = 2
#: Ctrl-C while a question was being asked, as shells have it: 128 + SIGINT.
EXIT_INTERRUPTED: Final = 130


def fail(text: str, exit_code: int) -> int:
    """Say in one line on stderr what is wrong and what to do; returns the exit code."""
    if sys.stderr is not None:
        print(printable(f"ottla: {' '.join(text.split())}"), file=sys.stderr)
    return exit_code
