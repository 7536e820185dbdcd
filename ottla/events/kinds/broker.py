"""The broker itself: its start and end, its settings, its time, and what of its own work fails."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.event_kind import EventKind, Once


class BrokerEvents:
    """The kinds, by their names in code."""

    BROKER_STOP_REQUESTED: Final = EventKind(
        "broker.stop.requested", "info", ("signal",), "A signal was received; the broker starts to shut down in order."
    )
    BROKER_STOPPED: Final = EventKind(
        "broker.stopped", "info", (), "The broker has answered all requests, written all data and closed its sockets."
    )
    CLOCK_STOPPED: Final = EventKind(
        "clock.stopped", "warning", ("reason",), "The clock is virtual, and nothing can move it."
    )
    SETTING_IGNORED: Final = EventKind(
        "setting.ignored", "warning", ("setting", "reason"), "A setting with an unknown name was given."
    )
    SETTING_STORED: Final = EventKind(
        "setting.stored", "info", ("setting", "reason"), "A setting of Kafka was given that has no effect here."
    )
    JOURNAL_ABANDONED: Final = EventKind(
        "journal.abandoned", "error", ("path", "reason"), "The journal can't be written; the broker stops writing it."
    )
    LOG_LINES_DROPPED: Final = EventKind(
        "log.lines.dropped",
        "warning",
        ("lines",),
        "Nothing read stderr for a while, and so many lines of the log were dropped. Read stderr, or send it to a "
        "file.",
    )
    TASK_FAILED: Final = EventKind(
        "task.failed",
        "error",
        ("task", "reason"),
        "A task raised an exception (a bug), with its traceback; other tasks go on.",
    )
    JOB_FAILED: Final = EventKind(
        "job.failed", "error", ("job", "reason"), "A job in the background raised an exception (a bug)."
    )
    TIMER_FAILED: Final = EventKind(
        "timer.failed",
        "error",
        ("timer", "reason"),
        "The callback of a timer or of a waiting request raised an exception (a bug). Logged once for each reason.",
    )
    CLOSE_FAILED: Final = EventKind(
        "close.failed",
        "error",
        ("service", "reason"),
        "A part of the broker raised an exception (a bug) while the broker was closing; the other parts are closed.",
    )
    ROUND_FAILED: Final = EventKind(
        "round.failed",
        "error",
        ("work", "reason"),
        "A round of periodic work raised an exception (a bug); the pauses between rounds become longer. Logged once "
        "for "
        "each reason.",
    )
    ROUND_RECOVERED: Final = EventKind(
        "round.recovered", "info", ("work",), "A round of periodic work succeeded after a failure."
    )
    CONTROL_FAILED: Final = EventKind(
        "control.failed", "error", ("method", "path"), "The control API raised an exception for a request (a bug)."
    )
    CONTROL_FULL: Final = EventKind(
        "control.full",
        "warning",
        ("what", "count"),
        "The control API has as many connections, or followers of events, as it may have; the next one is answered "
        "503. Close some. Logged once a minute.",
        once=Once((), "what", 60_000),
    )
    LOOP_FAILED: Final = EventKind(
        "loop.failed", "error", ("reason",), "Code outside any request raised an exception (a bug)."
    )
    TIME_ADVANCED: Final = EventKind(
        "time.advanced",
        None,
        ("ms",),
        "The virtual clock was moved, and all due work is done.",
        says=lambda d: f"time moved by {d['ms']} ms",
    )
    BROKER_RESET: Final = EventKind(
        "broker.reset",
        "info",
        (),
        "Topics, groups and settings are as at the start. Earlier events are no longer valid.",
    )
    BROKER_RESTORED: Final = EventKind(
        "broker.restored", "info", ("topics",), "Topics and groups are restored from a snapshot."
    )
    SEED_PLANTED: Final = EventKind(
        "seed.planted", "info", ("path", "entries"), "The topics, records and offsets of a seed were created."
    )
    SEED_SKIPPED: Final = EventKind(
        "seed.skipped", "info", ("path", "reason"), "A seed was skipped because the broker already has topics."
    )
    SETTINGS_CHANGED: Final = EventKind(
        "settings.changed",
        None,
        ("layer",),
        "A setting was changed while the broker runs: of the node or, with an empty `layer`, of the cluster.",
        is_minor=True,
    )
    READER_FAILED: Final = EventKind(
        "reader.failed",
        "error",
        ("kind", "reader", "reason"),
        "A reader of events raised an exception (a bug) on an event of this kind; other readers got the event.",
    )
