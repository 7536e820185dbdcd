"""A job: work that takes long, as a generator that yields wherever it may be interrupted.

A step takes a fraction of a millisecond. The runner of a job decides when the next step is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

Job: TypeAlias = Iterator[None]
