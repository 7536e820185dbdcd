"""How long anything may take before it must be wrong.

A test waits for a named condition, and this is the bound. Nothing takes nearly as long, and a condition that comes
costs no waiting, so the bound is generous: the machine may have much else to do.
"""

from __future__ import annotations

import os
from typing import Final

PATIENCE_SECONDS: Final = float(os.environ.get("OTTLA_PATIENCE_SECONDS") or 120)
