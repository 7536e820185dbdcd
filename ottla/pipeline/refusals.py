"""Why a job does not start, or does not finish: one line for people, which says what to do, and the exit code."""

from __future__ import annotations

from typing import ClassVar

from ottla.terminal.exit_codes import EXIT_MACHINE, EXIT_USAGE


class Refusal(Exception):
    """The text is the line. Raise one of those below."""

    exit_code: ClassVar[int]


class CannotUse(Refusal):
    """What the user wrote can't be used in any surroundings."""

    exit_code = EXIT_USAGE


class CannotWork(Refusal):
    """The surroundings are not as the job needs them: no broker answers, a topic is missing, a target is not empty."""

    exit_code = EXIT_MACHINE
