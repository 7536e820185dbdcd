"""What everybody can see of transactions, as short lines; and of these the ones that have changed since the last look.

Before it looks it waits until nothing is under way: no markers that are still to be written, and no transaction whose
timeout is so short that it is to be aborted at the next opportunity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ottla.conformance.partitions import Topic
from ottla.conformance.scene import Scene
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_producers import DescribeProducersRequest
from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest
from ottla.protocol.messages.list_offsets import ListOffsetsRequest
from ottla.protocol.messages.list_transactions import ListTransactionsRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest

#: A transaction that may last this long is over before anyone looks.
SHORT_MS: Final = 1
_EARLIEST, _LATEST = -2, -1
_READ_UNCOMMITTED, _READ_COMMITTED = 0, 1


class Onlooker:
    """Looks at these transactional ids, topics with their number of partitions, and groups."""

    def __init__(
        self, scene: Scene, transactional_ids: Sequence[str], topics: Sequence[tuple[Topic, int]], groups: Sequence[str]
    ) -> None:
        self._scene = scene
        self._transactional_ids = transactional_ids
        self._topics = topics
        self._groups = groups
        self._seen: dict[str, str] = {}

    def look(self) -> None:
        """Wait until nothing is under way, and record what is not as it was."""
        self._scene.until(self._nothing_is_under_way, what="no transaction is under way")
        seen = dict((*self._transactions(), *self._partitions(), *self._offsets()))
        changed = {name: line for name, line in seen.items() if line != self._seen.get(name)}
        if changed:
            self._scene.record("seen", None, {**changed})
        self._seen = seen

    def _nothing_is_under_way(self) -> bool:
        return not any(
            state.transaction_state.startswith("Prepare")
            or (state.transaction_state == "Ongoing" and state.transaction_timeout_ms <= SHORT_MS)
            for state in self._described()
        )

    def _described(self) -> list[Any]:
        request = DescribeTransactionsRequest(list(self._transactional_ids))
        found: list[Any] = self._scene.stagehand.ask(request, 0).transaction_states
        return found

    def _transactions(self) -> Iterator[tuple[str, str]]:
        """As DescribeTransactions has them; what ListTransactions has only where that is something else."""
        described = [(state, self._producer(state.producer_id)) for state in self._described()]
        listed = self._listed()
        for state, producer in described:
            line = f"{producer} epoch {state.producer_epoch} {state.transaction_state}"
            line += f", {state.transaction_timeout_ms} ms, {'begun' if state.transaction_start_time_ms > 0 else 'idle'}"
            line += "".join(
                f", {self._name(topic.topic)} {sorted(topic.partitions)}"
                for topic in sorted(state.topics, key=lambda topic: self._name(topic.topic))
            )
            if state.error_code:
                line = ErrorCode(state.error_code).name
            shown = listed.get(state.transactional_id)
            if shown != (producer, state.transaction_state):
                line += f"; listed as {shown}"
            yield self._name(state.transactional_id), line

    def _listed(self) -> dict[str, tuple[str, str]]:
        """Producer and state of all transactional ids that the broker lists, those of other plays too."""
        answer = self._scene.stagehand.ask(ListTransactionsRequest(), 1)
        return {
            state.transactional_id: (self._producer(state.producer_id), state.transaction_state)
            for state in answer.transaction_states
            if state.transactional_id in self._transactional_ids
        }

    def _partitions(self) -> Iterator[tuple[str, str]]:
        for topic, count in self._topics:
            ends = [
                self._ends(topic, count, timestamp, isolation_level)
                for timestamp, isolation_level in (
                    (_EARLIEST, _READ_UNCOMMITTED),
                    (_LATEST, _READ_UNCOMMITTED),
                    (_LATEST, _READ_COMMITTED),
                )
            ]
            asked = DescribeProducersRequest.TopicRequest(topic.name, list(range(count)))
            (described,) = self._scene.stagehand.ask(DescribeProducersRequest([asked]), 0).topics
            for partition in sorted(described.partitions, key=lambda partition: partition.partition_index):
                index = partition.partition_index
                shown = [end.get(index, "?") for end in ends]
                line = "{}..{}, stable to {}".format(*shown) if len(set(shown)) > 1 else f"all at {shown[0]}"
                line += "".join(sorted(map(self._active, partition.active_producers)))
                if partition.error_code:
                    line += f"; {ErrorCode(partition.error_code).name}"
                yield f"{self._name(topic.name)} {index}", line

    def _ends(self, topic: Topic, count: int, timestamp: int, isolation_level: int) -> dict[int, str]:
        asked = [ListOffsetsRequest.ListOffsetsPartition(index, timestamp=timestamp) for index in range(count)]
        request = ListOffsetsRequest(-1, isolation_level, [ListOffsetsRequest.ListOffsetsTopic(topic.name, asked)])
        (answered,) = self._scene.stagehand.ask(request, 5).topics
        return {
            one.partition_index: ErrorCode(one.error_code).name if one.error_code else str(one.offset)
            for one in answered.partitions
        }

    def _active(self, producer: Any) -> str:
        line = f"; {self._producer(producer.producer_id)} epoch {producer.producer_epoch}"
        line += f" sequence {producer.last_sequence} coordinator {producer.coordinator_epoch}"
        return line + (
            f" open at {producer.current_txn_start_offset}" if producer.current_txn_start_offset >= 0 else ""
        )

    def _offsets(self) -> Iterator[tuple[str, str]]:
        for group in self._groups:
            asked = [
                OffsetFetchRequest.OffsetFetchRequestTopics(topic.name, partition_indexes=list(range(count)))
                for topic, count in self._topics
            ]
            of_group = OffsetFetchRequest.OffsetFetchRequestGroup(group, topics=asked)
            lines = []
            for require_stable in (False, True):
                request = OffsetFetchRequest(groups=[of_group], require_stable=require_stable)
                (answered,) = self._scene.stagehand.ask(request, 8).groups
                lines.append(
                    [
                        ErrorCode(one.error_code).name if one.error_code else f"{one.committed_offset}{one.metadata}"
                        for topic in sorted(answered.topics, key=lambda topic: self._name(topic.name))
                        for one in sorted(topic.partitions, key=lambda one: one.partition_index)
                    ]
                )
                if answered.error_code:
                    lines[-1].append(ErrorCode(answered.error_code).name)
            yield self._name(group), f"{' '.join(lines[0])}, stable {' '.join(lines[1])}"

    def _name(self, name: str) -> str:
        return self._scene.labels.text(name)

    def _producer(self, producer_id: int) -> str:
        return str(self._scene.labels.producer(producer_id))
