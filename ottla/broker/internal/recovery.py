"""What becomes of a machine that has met a bug of ours: it is read anew from its log, as if the node had come just now.

At once, the first time; each time it fails again, later. Kafka takes back what the request has changed, and goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ottla.events.setbacks import Setbacks, reason_of
from ottla.purgatory import Alarm

if TYPE_CHECKING:
    from ottla.broker.internal.coordinated_topic import CoordinatedTopic
    from ottla.broker.internal.loading import Loading
    from ottla.broker.internal.topic import InternalTopic
    from ottla.coordinator.runtime.runtime import Runtime
    from ottla.events.stream import Stream
    from ottla.purgatory import Timer

#: A machine that was well for so long starts from the beginning with its next failure.
_QUIET_MS: Final = 3_600_000


class Recovery:
    """Recovers the machines of one internal topic, on all nodes."""

    def __init__(
        self,
        about: CoordinatedTopic,
        topic: InternalTopic,
        loading: Loading,
        timer: Timer,
        events: Stream,
        runtime_of: Callable[[int], Runtime[Any]],
    ) -> None:
        """`runtime_of`: a node, by its id."""
        self._about = about
        self._topic = topic
        self._loading = loading
        self._timer = timer
        self._events = events
        self._runtime_of = runtime_of
        self._setbacks: Setbacks[str] = Setbacks(timer.now_ms, _QUIET_MS)

    def failed(self, node_id: int, key: str, error: Exception) -> None:
        """A machine has met a bug. Called while the error is being handled."""
        cause = error.__cause__ or error
        if self._setbacks.failed(key, cause):
            fields = self._about.machine_fields(key)
            self._events.tell(self._about.machine_failed, raised=error, **fields, reason=reason_of(cause))
        recovery = Alarm(lambda: self._recover(node_id, key), f"recovery of {self._about.machine.format(key)}")
        self._timer.add_in(recovery, 0 if self._setbacks.failures(key) == 1 else self._setbacks.backoff_ms(key))

    def _recover(self, node_id: int, key: str) -> None:
        runtime, topic = self._runtime_of(node_id), self._topic.topic
        index = runtime.given_up_in(key)
        if topic is None or index is None:
            return

        def then(error: Exception | None) -> None:
            if error is not None:
                self.failed(node_id, key, error)
            elif self._setbacks.failures(key) == 1:
                self._events.tell(self._about.machine_recovered, **self._about.machine_fields(key))

        self._loading.recover(runtime, topic.partitions[index], key, then)
