"""Logs on disk, the data directory, and compaction."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.row import Row

LOG_OFFLINE: Final = Row(
    "log.offline",
    "error",
    ("directory", "reason"),
    "A log on disk could not be written or read, or is not what it was. Answered KAFKA_STORAGE_ERROR "
    "until the next start.",
)
LOG_CUT: Final = Row(
    "log.cut",
    "warning",
    ("directory", "end_offset", "bytes_cut", "reason"),
    "The broker had not been stopped in order, and the end of a log was not whole: it was cut off.",
)
LOGS_RECOVERING: Final = Row(
    "logs.recovering",
    "info",
    ("logs", "logs_done"),
    "The broker had not been stopped in order, and looks through its logs; said again every few seconds.",
)
LOGS_OPENED: Final = Row(
    "logs.opened", "info", ("path", "logs", "duration_ms"), "What is in the data directory is there again."
)
LOG_STRAY: Final = Row(
    "log.stray", "warning", ("directory", "path"), "A log of no known topic was set aside, to `path`."
)
LOG_REMOVAL_FAILED: Final = Row(
    "log.removal.failed", "error", ("directory", "reason"), "A deleted log could not be removed from the disk."
)
INDEX_REBUILT: Final = Row(
    "index.rebuilt", "warning", ("path",), "The index of a segment was missing or did not fit; it was made anew."
)
METADATA_DAMAGED: Final = Row(
    "metadata.damaged",
    "warning",
    ("path",),
    "A file beside a log makes no sense. What was in it is taken from the log as far as it is there; "
    "where a log began that DeleteRecords had cut is not.",
)
DATA_DIR_CLOSE_FAILED: Final = Row(
    "data_dir.close.failed",
    "error",
    ("path", "reason"),
    "The data directory could not be closed in order; the next start will look through the logs.",
)
LOG_CARE_FAILED: Final = Row(
    "log.care.failed",
    "error",
    ("topic", "partition", "work", "reason"),
    "What is done to each log from time to time met a bug of ours at this one, with its traceback. It is "
    "left out for longer and longer; said once for a reason.",
)
LOG_CARE_RECOVERED: Final = Row("log.care.recovered", "info", ("topic", "partition", "work"), "It went well again.")
DISK_WORK_FAILED: Final = Row(
    "disk.work.failed",
    "error",
    ("reason",),
    "Flushing or removing files met a bug of ours, with its traceback. A log to be flushed is offline then.",
)
RECOVERY_POINTS_FAILED: Final = Row(
    "recovery.points.failed", "warning", ("reason",), "It could not be noted how far logs are flushed."
)
VIRTUAL_DATE_FAILED: Final = Row(
    "virtual.date.failed",
    "warning",
    ("path", "reason"),
    "The date of the virtual clock could not be noted; the next start begins with an older one.",
)
CLUSTER_JOURNAL_CUT: Final = Row(
    "cluster.journal.cut",
    "warning",
    ("bytes_cut",),
    "The last changes in cluster.journal were not whole: they were cut off.",
)
CLUSTER_JOURNAL_FAILED: Final = Row(
    "cluster.journal.failed",
    "error",
    ("reason",),
    "A change of the cluster could not be kept, and was refused; or cluster.journal could not be flushed, and "
    "takes no more changes.",
)

# Compaction

LOG_CLEANED: Final = Row(
    "log.cleaned",
    "info",
    ("topic", "partition", "first_offset", "end_offset", "bytes_before", "bytes_after", "duration_ms"),
    "A compacted log was cleaned: it was dirty from the first of the offsets to the second.",
)
LOG_CLEANING_STOPPED: Final = Row(
    "log.cleaning.stopped",
    "warning",
    ("topic", "partition", "reason"),
    "A compacted log could not be cleaned to its end. It is tried again after longer and longer pauses; "
    "said once for a reason.",
)
LOG_CLEANING_FAILED: Final = Row(
    "log.cleaning.failed",
    "error",
    ("topic", "partition", "reason"),
    "A compacted log can't be read, or cleaning it met a bug of ours, with its traceback. It is not "
    "cleaned any more, and only grows.",
)
