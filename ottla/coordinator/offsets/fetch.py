"""OffsetFetch (api key 9), v1–v10: how far a group has read. No membership is asked for, and no session goes on.

A fetch of *stable* offsets waits for the commits that are on their way to the log. For a partition that an open
transaction has committed to it gets UNSTABLE_OFFSET_COMMIT: the client asks again. Any other fetch sees what counts.

v10 goes by topic ids: what was committed for another topic of the same name is not found.
Kafka: OffsetMetadataManager.fetchOffsets, fetchAllOffsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.coordinator.offsets import answers
from ottla.coordinator.runtime.effects import Reply
from ottla.coordinator.write_errors import FETCH_WRITE_ERRORS
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_fetch import OffsetFetchResponse
from ottla.protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from ottla.coordinator.offsets.committed import CommittedOffset
    from ottla.coordinator.offsets.events import OffsetFetchRequested
    from ottla.coordinator.offsets.store import Offsets
    from ottla.coordinator.runtime.effects import Effects


def fetch(offsets: Offsets, event: OffsetFetchRequested, effects: Effects) -> None:
    """Answer with what is committed; of stable offsets only when no commit is on its way."""
    if event.require_stable and offsets.writes:
        offsets.waiting_fetches.append(event)
    else:
        effects.append(Reply(event.token, _fetched(offsets, event)))


def answer_waiting(offsets: Offsets, error: ErrorCode, effects: Effects) -> None:
    """Answer fetches of stable offsets: all with the error of a write that failed, or when nothing is on its way."""
    if error is ErrorCode.NONE and offsets.writes:
        return
    for event in offsets.waiting_fetches:
        if error is ErrorCode.NONE:
            response = _fetched(offsets, event)
        else:
            response = answers.fetch_refused(event, FETCH_WRITE_ERRORS.get(error, error))
        effects.append(Reply(event.token, response))
    offsets.waiting_fetches.clear()


def _fetched(offsets: Offsets, event: OffsetFetchRequested) -> OffsetFetchResponse.OffsetFetchResponseGroup:
    """What there is: of all topics, only partitions that have an offset which counts."""
    request = event.request
    # What holds back the answer to this fetch, if anything does.
    pending = offsets.pending.at if event.require_stable else ()
    if request.topics is None:
        topics = [
            OffsetFetchResponse.OffsetFetchResponseTopics(
                name,
                ZERO_UUID,
                [
                    _unstable(partition) if (name, partition) in pending else _found(partition, committed)
                    for partition, committed in paced(list(partitions.items()))
                ],
            )
            for name, partitions in paced(list(offsets.committed.items()))
        ]
    else:
        topics = [
            OffsetFetchResponse.OffsetFetchResponseTopics(
                topic.name,
                topic.topic_id,
                [
                    _unstable(partition)
                    if (topic.name, partition) in pending
                    else _find(offsets, topic.name, topic.topic_id, partition)
                    for partition in paced(topic.partition_indexes)
                ],
            )
            for topic in paced(request.topics)
        ]
    return OffsetFetchResponse.OffsetFetchResponseGroup(request.group_id, topics, ErrorCode.NONE)


def _find(
    offsets: Offsets, topic: str, topic_id: bytes, partition: int
) -> OffsetFetchResponse.OffsetFetchResponsePartitions:
    """What is committed there, unless it was for another topic of that name; an unknown id is any."""
    committed = offsets.committed.get(topic, {}).get(partition)
    if committed is None or (ZERO_UUID not in {topic_id, committed.topic_id} and topic_id != committed.topic_id):
        return answers.no_offset(partition)
    return _found(partition, committed)


def _found(partition: int, committed: CommittedOffset) -> OffsetFetchResponse.OffsetFetchResponsePartitions:
    return OffsetFetchResponse.OffsetFetchResponsePartitions(
        partition, committed.offset, committed.leader_epoch, committed.metadata, ErrorCode.NONE
    )


def _unstable(partition: int) -> OffsetFetchResponse.OffsetFetchResponsePartitions:
    """A transaction that is still open may change what is committed there."""
    return answers.no_offset(partition, ErrorCode.UNSTABLE_OFFSET_COMMIT)
