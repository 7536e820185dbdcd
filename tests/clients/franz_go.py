"""The program with franz-go, `programs/franz_go`: Go builds it once into `.cache`, from what its go.mod pins."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.clients.libraries import ROOT
from tests.support.fetching import fetching

_SOURCE: Final = Path(__file__).parent / "programs" / "franz_go"
_PROGRAM: Final = ROOT / ".cache" / "franz-go" / "copier"


def build_franz_go() -> Path | None:
    """Where it is; None: there is no `go` on the PATH."""
    if shutil.which("go") is None:
        return None
    with fetching(_PROGRAM):
        if not _PROGRAM.exists():
            print(f"building {_PROGRAM} (once; Go fetches its modules)", file=sys.stderr)
        subprocess.run(["go", "build", "-o", _PROGRAM, "."], cwd=_SOURCE, check=True)
    return _PROGRAM
