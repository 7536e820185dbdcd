"""A card as JSON: the counts of each area, and each case with what differs."""

from __future__ import annotations

import json

from ottla.conformance.card import DIFFERING, Card, Result
from ottla.conformance.scene import Frame
from ottla.conformance.shown.text import table
from ottla.conformance.transcript import Json


def to_json(card: Card, *, with_bytes: bool) -> str:
    """The whole card; with the bytes of all cases that are different, if wished for."""
    return json.dumps(
        {
            "broker": card.broker,
            "against": card.against,
            "started": card.started,
            "ended_early": card.ended_early or None,
            "left_behind": card.left_behind,
            "areas": table(card),
            "cases": [_case(result, with_bytes=with_bytes) for result in card.results],
        },
        indent=1,
        ensure_ascii=False,
    )


def _case(result: Result, *, with_bytes: bool) -> Json:
    script = result.case.script
    shown: dict[str, Json] = {
        "area": script.area,
        "script": script.name,
        "version": result.case.version,
        "outcome": result.outcome.value,
        "seconds": round(result.seconds, 3),
        "tries": result.tries,
    }
    if result.reason:
        shown["reason"] = result.reason
    if result.outcome in DIFFERING:
        shown["differences"] = [
            {
                "step": step.step,
                "said": step.said,
                "request": step.asked,
                "expected": step.expected,
                "got": step.got,
                "fields": [{"path": one.path, "expected": one.expected, "got": one.got} for one in step.fields],
            }
            for step in result.differences
        ]
        if with_bytes:
            shown["bytes"] = [_frame(frame) for frame in result.frames]
            shown["bytes_expected"] = [_frame(frame) for frame in result.frames_expected]
    return shown


def _frame(frame: Frame) -> Json:
    direction = "sent" if frame.is_sent else "received"
    return {"step": frame.step, "actor": frame.actor, direction: frame.data.hex()}
