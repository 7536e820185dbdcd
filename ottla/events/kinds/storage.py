"""Logs on disk, the data directory, and compaction."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.event_kind import EventKind, Once


class StorageEvents:
    """The kinds, by their names in code."""

    LOG_OFFLINE: Final = EventKind(
        "log.offline",
        "error",
        ("directory", "reason"),
        "A log on disk could not be written or read, or is damaged. Requests to it are answered KAFKA_STORAGE_ERROR "
        "until the next start.",
    )
    LOG_FULL: Final = EventKind(
        "log.full",
        "warning",
        ("topic", "partition", "limit", "reason"),
        "A log in memory has no room for a batch: `limit` is the setting that was reached, or `memory` for the "
        "machine's. "
        "The batch is answered KAFKA_STORAGE_ERROR, and producers try it again until they time out. Logged once a "
        "minute "
        "for each topic.",
        once=Once(("topic",), "limit", 60_000),
    )
    LOG_CUT: Final = EventKind(
        "log.cut",
        "warning",
        ("directory", "end_offset", "bytes_cut", "reason"),
        "After an unclean stop, the end of a log was incomplete and was cut off.",
    )
    LOGS_RECOVERING: Final = EventKind(
        "logs.recovering",
        "info",
        ("logs", "logs_done"),
        "After an unclean stop, the broker checks its logs; logged again every few seconds.",
    )
    LOGS_OPENED: Final = EventKind(
        "logs.opened", "info", ("path", "logs", "duration_ms"), "All logs of the data directory are open."
    )
    LOG_STRAY: Final = EventKind(
        "log.stray", "warning", ("directory", "path"), "A log of an unknown topic was moved to `path`."
    )
    LOG_REMOVAL_FAILED: Final = EventKind(
        "log.removal.failed", "error", ("directory", "reason"), "A deleted log could not be removed from the disk."
    )
    INDEX_REBUILT: Final = EventKind(
        "index.rebuilt", "warning", ("path",), "The index of a segment was missing or did not fit, and was rebuilt."
    )
    METADATA_DAMAGED: Final = EventKind(
        "metadata.damaged",
        "warning",
        ("path",),
        "A file beside a log is damaged. Its content is rebuilt from the log as far as possible; the start offset "
        "after "
        "DeleteRecords is lost.",
    )
    DATA_DIR_CLOSE_FAILED: Final = EventKind(
        "data_dir.close.failed",
        "error",
        ("path", "reason"),
        "The data directory could not be closed in order; the next start will check all logs.",
    )
    LOG_CARE_FAILED: Final = EventKind(
        "log.care.failed",
        "error",
        ("topic", "partition", "work", "reason"),
        "Periodic work on this log raised an exception (a bug), with its traceback. The pauses before the next attempt "
        "become longer. Logged once for each reason.",
    )
    LOG_CARE_RECOVERED: Final = EventKind(
        "log.care.recovered", "info", ("topic", "partition", "work"), "Periodic work on this log succeeded again."
    )
    DISK_WORK_FAILED: Final = EventKind(
        "disk.work.failed",
        "error",
        ("reason",),
        "Flushing or removing files raised an exception (a bug), with its traceback. A log that was to be flushed is "
        "offline.",
    )
    RECOVERY_POINTS_FAILED: Final = EventKind(
        "recovery.points.failed", "warning", ("reason",), "The recovery points of the logs could not be written."
    )
    VIRTUAL_DATE_FAILED: Final = EventKind(
        "virtual.date.failed",
        "warning",
        ("path", "reason"),
        "The date of the virtual clock could not be written; the next start begins with an older date.",
    )
    CLUSTER_JOURNAL_CUT: Final = EventKind(
        "cluster.journal.cut",
        "warning",
        ("bytes_cut",),
        "The last changes in cluster.journal were incomplete and were cut off.",
    )
    CLUSTER_JOURNAL_FAILED: Final = EventKind(
        "cluster.journal.failed",
        "error",
        ("reason",),
        "A change of the cluster could not be stored and was refused; or cluster.journal could not be flushed and "
        "accepts no more changes.",
    )

    # Compaction

    LOG_CLEANED: Final = EventKind(
        "log.cleaned",
        "info",
        ("topic", "partition", "first_offset", "end_offset", "bytes_before", "bytes_after", "duration_ms"),
        "A compacted log was cleaned. Its dirty part was from `first_offset` to `end_offset`.",
    )
    LOG_CLEANING_STOPPED: Final = EventKind(
        "log.cleaning.stopped",
        "warning",
        ("topic", "partition", "reason"),
        "The cleaning of a compacted log could not be completed. It is retried after longer and longer pauses. Logged "
        "once for each reason.",
    )
    LOG_CLEANING_FAILED: Final = EventKind(
        "log.cleaning.failed",
        "error",
        ("topic", "partition", "reason"),
        "A compacted log can't be read, or its cleaning raised an exception (a bug), with its traceback. The log is no "
        "longer cleaned, and only grows.",
    )
