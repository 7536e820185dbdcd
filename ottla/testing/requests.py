"""`kafka.requests(...)`: what clients have asked and were answered, of a broker that records it.

with Broker(record_requests=True) as kafka:
    ...
    (commit,) = kafka.requests("OffsetCommit", group="kitchen")
    assert commit.request.topics[0].partitions[0].committed_offset == 7
    assert commit.errors == []
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.testing.asserting import assert_received, check_api

if TYPE_CHECKING:
    from ottla.control.attached.controlled_broker import ControlledBroker
    from ottla.control.state.requests import ReceivedRequest, RequestRecorder
    from ottla.testing.inside import Sees


def requests_of(
    inside: Sees, api: str, *, group: str | None, client_id: str | None, since: int
) -> list[ReceivedRequest]:
    """Those that are kept, as they are now. They are the test's own: what it does to them, no client notices.

    Raises `ValueError` for no API of Kafka's, and `RuntimeError` if they are not recorded.
    """
    return [received.snapshot() for received in _kept(inside, api, group=group, client_id=client_id, since=since)]


def _kept(inside: Sees, api: str, *, group: str | None, client_id: str | None, since: int) -> list[ReceivedRequest]:
    check_api(api)
    return inside.look(lambda broker: _recorder(broker).requests(api, group=group, client_id=client_id, since_ns=since))


def assert_requests(
    inside: Sees,
    api: str,
    *,
    group: str | None,
    client_id: str | None,
    since: int,
    exactly: int | None,
    at_least: int | None,
    at_most: int | None,
) -> None:
    """Assert how many there were. Raises `AssertionError` with the timeline, and as `requests_of`."""
    found = _kept(inside, api, group=group, client_id=client_id, since=since)
    everything = inside.look(lambda broker: _recorder(broker).requests(since_ns=since))
    if (exactly is not None or at_most is not None) and not inside.look(
        lambda broker: _recorder(broker).has_all_since(since)
    ):
        raise RuntimeError("so many requests have come that the first are not kept; give since=, a later kafka.mark()")
    of_what = (f" of group {group}" if group else "") + (f" from {client_id}" if client_id else "")
    timeline = inside.timeline_since(since)
    assert_received(
        found,
        everything,
        api,
        of_what,
        timeline.about(group) if group else timeline,
        exactly=exactly,
        at_least=at_least,
        at_most=at_most,
    )


def _recorder(broker: ControlledBroker) -> RequestRecorder:
    if broker.recorder is None:
        raise RuntimeError("requests are not recorded; make it Broker(record_requests=True), or say so in the marker")
    return broker.recorder
