"""The pages of docs/: the files and commands that they show.

files_in(page("jest.md"))["jest.config.js"]
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
#: A block with its language and text.
_BLOCK: Final = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
#: What names a file in a block's first line.
_NAME: Final = re.compile(r"^(?:#|//|<!--) (\S+\.\w+)(?: -->)?$")


def page(name: str) -> str:
    """The text of docs/NAME."""
    return (DOCS / name).read_text(encoding="utf-8")


def files_in(text: str) -> dict[str, str]:
    """The blocks whose first line is a comment that names a file, by that name."""
    named = ((_NAME.match(block.partition("\n")[0]), block) for _, block in _BLOCK.findall(text))
    return {match[1]: block for match, block in named if match is not None}


def commands_in(text: str) -> list[str]:
    """What is typed in the console blocks."""
    blocks = (block for language, block in _BLOCK.findall(text) if language == "console")
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def write_files(text: str, folder: Path) -> list[str]:
    """Write the files that the text shows below this folder; returns their names."""
    for name, block in files_in(text).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(block, encoding="utf-8")
    return list(files_in(text))
