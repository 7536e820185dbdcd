"""The one directory that logs are in: that of --data-dir, or for logs in memory one whose name no file system has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.cluster.cluster import Cluster

#: The name of the one directory, if there is no --data-dir.
MEMORY: Final = "memory"


def log_dir(cluster: Cluster) -> str:
    """Its name for clients."""
    return MEMORY if cluster.store is None else cluster.store.data_dir.path
