"""The rota's row, and having it among the kinds of groups while a test runs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ottla.coordinator.groups.kinds import KINDS
from ottla.coordinator.kinds.kind import CannotBeDone, GroupKind
from ottla.coordinator.kinds.outside import RequestRow, errors
from ottla.coordinator.runtime.kind import Kind
from ottla.protocol.errors import ErrorCode
from tests.coordinator.rota import machine
from tests.coordinator.rota.machine import BeatRequested, Called, Dismissed, EnlistRequested, Rota, RotaCause, RotaState


def _dismiss(rota: Rota, member_ids: Sequence[str], cause: RotaCause, reason: str | None = None) -> list[Dismissed]:
    return [Dismissed(member_id, cause, reason) for member_id in member_ids]


def _call(rota: Rota, reason: str | None) -> list[Called]:
    if not rota.turns:
        raise CannotBeDone(f"rota {rota.group_id} has no members to call")
    return [Called(reason)]


_MEMBERS_ONLY = errors(
    ErrorCode.INVALID_GROUP_ID, absent=ErrorCode.UNKNOWN_MEMBER_ID, other_kind=ErrorCode.GROUP_ID_NOT_FOUND
)

ROTA = GroupKind(
    name="rota",
    machine=Rota,
    runtime=Kind("rota", machine.step, lambda _timer_key: "Rota", ("turn", "handover"), machine.describe_timer),
    create=Rota,
    states=RotaState,
    rebalancing=(RotaState.HANDOVER,),
    causes=RotaCause,
    member_timers=("turn",),
    purgatories=("Rota",),
    parks_in=("Rota",),
    records={machine.ROTA_TYPE: machine.take_in},
    requests={
        EnlistRequested: RequestRow(
            "Enlist",
            _MEMBERS_ONLY,
            lambda _group_id, _event, _outside, error: error,  # type: ignore[arg-type, return-value]
            creates_group=lambda _event: True,
        ),
        BeatRequested: RequestRow(
            "Beat",
            _MEMBERS_ONLY,
            lambda _group_id, _event, _outside, error: error,  # type: ignore[arg-type, return-value]
        ),
    },
    is_sweep_due=lambda _rota, _now_ms: False,
    members=machine.members,
    waits_for=machine.waits_for,
    expire=lambda rota, member_ids: _dismiss(rota, member_ids, RotaCause.SILENT),
    evict=lambda rota, member_ids, reason: _dismiss(rota, member_ids, RotaCause.DISMISSED, reason),
    rebalance=_call,
)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are rotas while the test runs."""
    monkeypatch.setitem(KINDS, Rota, ROTA)
