"""How long anything may take before it must be wrong.

Whoever waits, waits for a named condition, and this is the bound. It is far more than anything takes here, unless the
machine has much else to do: `make soak` has more patience, for a drill that ends early has proved nothing.
"""

from __future__ import annotations

import os
from typing import Final

PATIENCE_SECONDS: Final = float(os.environ.get("OTTLA_PATIENCE_SECONDS") or 30)
