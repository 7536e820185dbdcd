"""What clients have asked, and what they were answered, decoded: the last of it, on when somebody asks for it.

A request is kept as it came, and its answer as it leaves, after whatever a fault has made of it. How much is kept is
bounded in number and in bytes of records.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from ottla.events.kind import Kind
from ottla.protocol.copying import copied
from ottla.protocol.errors import error_name
from ottla.protocol.messages.fetch import FetchResponse
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.primitives import Message

if TYPE_CHECKING:
    from ottla.broker.network.call import Call
    from ottla.events.stream import Event, Stream

REQUESTS_KEPT_MAX: Final = 5_000
RECORD_BYTES_KEPT_MAX: Final = 32 * 1024 * 1024


@dataclass(slots=True)
class ReceivedRequest:
    """A request, and its answer when that has left. The recorder's has messages of the broker's own: see `snapshot`."""

    api: str
    api_version: int
    client_id: str
    client_host: str
    node_id: int
    correlation_id: int
    request: Any
    """The decoded request, with Kafka's names for its fields."""
    now_ms: int
    """When it came, by the broker's clock."""
    at_ns: int
    """When it came, by the machine's `perf_counter_ns`."""
    answer: Any = None
    """What has left, decoded; None: nothing yet, or nothing at all."""
    is_answered: bool = False
    """Whether it is dealt with: Produce with acks=0 has no answer."""
    answered_after_ms: float | None = None
    """How long it took, in the machine's time."""
    is_kept: bool = True
    """Whether the recorder still has it."""

    def snapshot(self) -> ReceivedRequest:
        """The same as it is now, with messages of its own: the broker's may be given again, to other clients."""
        answer = None if self.answer is None else copied(self.answer)
        return replace(self, request=copied(self.request), answer=answer)

    @property
    def group_id(self) -> str | None:
        """The group it is about, if it is about one."""
        return getattr(self.request, "group_id", None)

    @property
    def errors(self) -> list[str]:
        """The names of all errors in its answer."""
        return [error_name(code) for code in _error_codes(self.answer) if code]

    def __str__(self) -> str:
        about = f" of {self.group_id}" if self.group_id else ""
        became = ", ".join(dict.fromkeys(self.errors)) or ("answered" if self.is_answered else "not answered")
        return f"{self.api} v{self.api_version}{about} from {self.client_id}: {became}"


class RequestRecorder:
    """Keeps requests. Fills `CallRecorder`."""

    def __init__(
        self,
        events: Stream,
        kept_max: int = REQUESTS_KEPT_MAX,
        record_bytes_max: int = RECORD_BYTES_KEPT_MAX,
    ) -> None:
        self._kept: deque[ReceivedRequest] = deque()
        self._kept_max = kept_max
        self._record_bytes_max = record_bytes_max
        self._record_bytes = 0
        self._now_ms = events.now_ms
        #: When the last one came that is not kept any more.
        self._lost_ns = 0
        events.read(self._forget, [Kind.BROKER_RESET])

    def requests(
        self,
        api: str = "*",
        *,
        group: str | None = None,
        client_id: str | None = None,
        since_ns: int = 0,
    ) -> list[ReceivedRequest]:
        """Those of this API, about this group and of this client, in the order in which they came."""
        return [
            kept
            for kept in self._kept
            if fnmatchcase(kept.api, api)
            and kept.at_ns > since_ns
            and (group is None or fnmatchcase(kept.group_id or "", group))
            and (client_id is None or fnmatchcase(kept.client_id, client_id))
        ]

    def has_all_since(self, since_ns: int) -> bool:
        """Whether nothing is lost that has come since."""
        return since_ns >= self._lost_ns

    def take(self, call: Call) -> ReceivedRequest:
        """A request has come."""
        received = ReceivedRequest(
            call.route.name,
            call.api_version,
            call.client_id,
            call.client_host,
            call.node.node_id,
            call.correlation_id,
            call.request,
            self._now_ms(),
            perf_counter_ns(),
        )
        self._kept.append(received)
        self._count(_record_bytes(received.request))
        return received

    def answered(self, received: ReceivedRequest, response: Message | None) -> None:
        """It has its answer, or gets none."""
        former, received.answer = received.answer, response
        received.is_answered = True
        received.answered_after_ms = (perf_counter_ns() - received.at_ns) / 1e6
        if received.is_kept:
            self._count(_record_bytes(response) - _record_bytes(former))

    def _count(self, record_bytes: int) -> None:
        """Keep no more than may be kept, but the last one always."""
        self._record_bytes += record_bytes
        kept = self._kept
        while len(kept) > 1 and (len(kept) > self._kept_max or self._record_bytes > self._record_bytes_max):
            oldest = kept.popleft()
            oldest.is_kept = False
            self._record_bytes -= _record_bytes(oldest.request) + _record_bytes(oldest.answer)
            self._lost_ns = oldest.at_ns

    def _forget(self, _event: Event) -> None:
        for received in self._kept:
            received.is_kept = False
        self._kept.clear()
        self._record_bytes = 0


def _record_bytes(message: object) -> int:
    """What keeping it holds: the records of Produce and Fetch, beside which nothing counts."""
    if isinstance(message, ProduceRequest):
        return sum(len(p.records or b"") for topic in message.topic_data for p in topic.partition_data)
    if isinstance(message, FetchResponse):
        return sum(len(p.records or b"") for topic in message.responses for p in topic.partitions)
    return 0


def _error_codes(value: object) -> Iterator[int]:
    """All that a message has, at whatever depth."""
    if isinstance(value, list):
        for item in value:
            yield from _error_codes(item)
    elif isinstance(value, Message):
        for name in value.__slots__:
            found = getattr(value, name)
            if name == "error_code":
                yield found
            else:
                yield from _error_codes(found)
