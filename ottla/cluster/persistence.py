"""From `--data-dir` to a cluster that is as it was, and back.

Opening comes before the first socket accepts, so clients find everything or nothing. While logs are recovered after a
crash the loop has its turn after each topic, for signals. At the end all logs are closed and flushed, and the directory
gets the mark of a clean stop.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla.cluster.address import MachineRefused
from ottla.cluster.replica_census import tell_of_other_nodes
from ottla.cluster.store import ClusterStore
from ottla.events.kind import Kind
from ottla.log.storage.cluster_file import CLUSTER_FILE, ClusterFileDamagedError
from ottla.log.storage.data_dir import DataDir, DataDirRefused
from ottla.log.storage.files import describe
from ottla.log.storage.worker import DiskThread
from ottla.purgatory import VirtualClock

if TYPE_CHECKING:
    from ottla.cluster.cluster import Cluster
    from ottla.log.storage.file_operations import FileOperations
    from ottla.purgatory import Clock

_OPEN_FILES_MAX: Final = 4096
_OPEN_FILES_MIN: Final = 16


class Persistence:
    """The data directory of a running broker."""

    def __init__(self, cluster: Cluster, clock: Clock, path: Path, operations: FileOperations) -> None:
        self._cluster = cluster
        self._clock = clock
        self._path = path
        self._operations = operations
        self._worker: DiskThread
        self._data_dir: DataDir
        #: Whether everything is restored; before that, the mark of a clean stop would be wrong.
        self._is_complete = False

    async def open(self, stopping: asyncio.Event) -> None:
        """Lock the directory and restore what is in it; returns early when `stopping` is set.

        Raises `MachineRefused`.
        """
        begun = time.monotonic()
        cluster = self._cluster
        self._worker = DiskThread(asyncio.get_running_loop(), cluster.events)
        self._data_dir = DataDir(self._path, cluster.events, self._worker, _open_files_max(), self._operations)
        try:
            self._data_dir.open(cluster.cluster_id)
            if isinstance(self._clock, VirtualClock):
                self._clock.date_from(self._data_dir.virtual_date())
            store = ClusterStore(self._data_dir, cluster.wall_ms, cluster.events)
            cluster.use_store(store)
            for _ in store.restore(cluster):
                await asyncio.sleep(0)
                if stopping.is_set():
                    return
        except (DataDirRefused, ClusterFileDamagedError, OSError) as error:
            self._worker.close()
            self._data_dir.release()
            raise MachineRefused(f"--data-dir: {self._reason(error)}") from None
        duration_ms = round((time.monotonic() - begun) * 1000)
        cluster.events.tell(
            Kind.LOGS_OPENED, path=self._data_dir.path, logs=self._data_dir.logs_count, duration_ms=duration_ms
        )
        tell_of_other_nodes(cluster)
        self._is_complete = True

    def _reason(self, error: Exception) -> str:
        match error:
            case ClusterFileDamagedError():
                return (
                    f"{self._data_dir.path}/{CLUSTER_FILE} was changed: {error}; put back a copy of it, or name "
                    "another directory"
                )
            case OSError():
                path = error.filename or self._data_dir.path
                return f"cannot read {path}: {describe(error)}; name a directory that can be used"
        return str(error)

    def close(self) -> None:
        """Close everything. Failures are told as events; the next start recovers."""
        tell, path = self._cluster.events.tell, self._data_dir.path
        if not self._is_complete:
            self._worker.close()
            self._data_dir.release()
            return
        try:
            self._data_dir.flush()
            self._cluster.logs.close()
            self._data_dir.close()
        except OSError as error:
            tell(Kind.DATA_DIR_CLOSE_FAILED, path=path, reason=describe(error))
        except Exception as error:
            tell(Kind.DATA_DIR_CLOSE_FAILED, raised=error, path=path, reason=describe(error))
        finally:
            self._data_dir.release()
            self._worker.close()


def _open_files_max() -> int:
    """How many segment files may be open: half of the limit of the process; clients need the rest."""
    try:
        import resource
    except ImportError:  # no such limit here
        return _OPEN_FILES_MAX
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _OPEN_FILES_MAX if soft < 0 else max(_OPEN_FILES_MIN, min(soft // 2, _OPEN_FILES_MAX))
