"""What a run is asked to take, of what there is: `--only NAMES`, with commas between."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def chosen(parser: argparse.ArgumentParser, text: str, what: str, names: Sequence[str]) -> list[str]:
    """The names in `text`; all, if it is empty. A name that is none of them ends the program."""
    wanted = text.split(",") if text else list(names)
    if unknown := set(wanted) - set(names):
        parser.error(f"there is no {what} {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    return wanted
