"""The broker itself: its start and end, its settings, its time, and what of its own work fails."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.row import Row

BROKER_STOP_REQUESTED: Final = Row(
    "broker.stop.requested", "info", ("signal",), "A signal came; the orderly end begins."
)
BROKER_STOPPED: Final = Row("broker.stopped", "info", (), "Everything is answered, written and closed.")
CLOCK_STOPPED: Final = Row("clock.stopped", "warning", ("reason",), "The clock is virtual and nothing can move it.")
SETTING_IGNORED: Final = Row(
    "setting.ignored", "warning", ("setting", "reason"), "A setting was given that nobody knows."
)
SETTING_STORED: Final = Row(
    "setting.stored", "info", ("setting", "reason"), "A setting of Kafka's was given that has no effect."
)
JOURNAL_ABANDONED: Final = Row(
    "journal.abandoned", "error", ("path", "reason"), "The journal can't be written; it ends here."
)
TASK_FAILED: Final = Row(
    "task.failed", "error", ("task", "reason"), "A task met a bug of ours, with its traceback; others go on."
)
JOB_FAILED: Final = Row("job.failed", "error", ("job", "reason"), "The same of a job in the background.")
TIMER_FAILED: Final = Row(
    "timer.failed",
    "error",
    ("timer", "reason"),
    "The same of what a timer called, or of who waited for something. Said once for a reason.",
)
CLOSE_FAILED: Final = Row(
    "close.failed",
    "error",
    ("service", "reason"),
    "The same of a part that was to end with the broker; the other parts end.",
)
ROUND_FAILED: Final = Row(
    "round.failed",
    "error",
    ("work", "reason"),
    "The same of a round of what is done again and again; the pauses become longer. Said once for a reason.",
)
ROUND_RECOVERED: Final = Row("round.recovered", "info", ("work",), "A round that had failed went well.")
CONTROL_FAILED: Final = Row(
    "control.failed", "error", ("method", "path"), "The control API failed at a request; a bug of ours."
)
LOOP_FAILED: Final = Row("loop.failed", "error", ("reason",), "Something failed that is no request's; a bug of ours.")
TIME_ADVANCED: Final = Row(
    "time.advanced", None, ("ms",), "The virtual clock was moved, and all that was due has happened."
)
BROKER_RESET: Final = Row(
    "broker.reset",
    "info",
    (),
    "Topics, groups and settings are as at the start; what others have been told until then is of the past.",
)
BROKER_RESTORED: Final = Row(
    "broker.restored", "info", ("topics",), "Topics and groups are as they were at a snapshot."
)
SEED_PLANTED: Final = Row(
    "seed.planted", "info", ("path", "entries"), "Topics, records and offsets of a seed are there."
)
SEED_SKIPPED: Final = Row(
    "seed.skipped", "info", ("path", "reason"), "A seed was not planted, for the broker has topics already."
)
SETTINGS_CHANGED: Final = Row(
    "settings.changed",
    None,
    ("layer",),
    "A setting was changed while the broker runs: the node's or, with an empty `layer`, the cluster's.",
)
READER_FAILED: Final = Row(
    "reader.failed",
    "error",
    ("kind", "reader", "reason"),
    "The same of who read an event of this kind; other readers got it.",
)
