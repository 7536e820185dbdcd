"""What has to be fetched once is fetched by one process: the others wait for it, and find it there."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def fetching(target: Path) -> Iterator[None]:
    """Alone among all processes that fetch `target`; inside, look once more whether it is there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(f"{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
