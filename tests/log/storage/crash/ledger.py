"""What was asked of a broker and what it promised, beside the number of the file operation at which it did.

A crash at operation n knows what was begun before n, and may rely on what was promised before n.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

#: The number of an operation. What is on the device from the beginning was promised at 0.
Moment: TypeAlias = int
#: (topic id, partition)
LogId: TypeAlias = tuple[bytes, int]


class Sent(NamedTuple):
    """A batch."""

    begun: Moment
    base_offset: int
    #: (key, value) of its records, as they come back.
    records: tuple[tuple[bytes | None, bytes | None], ...]

    @property
    def end_offset(self) -> int:
        return self.base_offset + len(self.records)


@dataclass
class LogTale:
    """What became of one log."""

    sent: list[Sent] = field(default_factory=list)
    #: (when it was promised, up to which offset the log is on the device)
    flushed: list[tuple[Moment, int]] = field(default_factory=list)
    #: (when it was begun, from which offset on it was to begin)
    starts: list[tuple[Moment, int]] = field(default_factory=list)
    #: Where it ended when this life of the device began, be there records up to there or not.
    end_found: int = 0

    def end_promised(self, moment: Moment) -> int:
        return max((end for promised, end in self.flushed if promised <= moment), default=0)

    def end_begun(self, moment: Moment) -> int:
        """Where the log ends if everything arrived."""
        number = bisect_right(self.sent, moment, key=lambda sent: sent.begun)
        return max(self.sent[number - 1].end_offset if number else 0, self.end_found)

    def start_asked(self, moment: Moment) -> int:
        return max((start for begun, start in self.starts if begun <= moment), default=0)

    def records(self) -> dict[int, tuple[bytes | None, bytes | None]]:
        """All there ever were, by their offsets."""
        return {sent.base_offset + number: record for sent in self.sent for number, record in enumerate(sent.records)}

    def cut(self, start_offset: int, end_offset: int) -> None:
        """The log was found so, and goes on."""
        self.sent = [sent._replace(begun=0) for sent in self.sent if sent.end_offset <= end_offset]
        self.flushed = [(0, end_offset)]
        self.end_found = end_offset
        self.starts = [(0, start) for start in (*(start for _, start in self.starts), start_offset)]


@dataclass
class TopicTale:
    """What became of one topic."""

    name: str
    #: Whether its logs are compacted.
    is_compacted: bool = False
    logs: dict[int, LogTale] = field(default_factory=dict)
    #: When its deletion was begun.
    doomed: Moment | None = None
    #: When that was promised to be on the device, by a clean stop.
    gone: Moment | None = None
    #: (when it was begun, the configs), and (when it was promised, how many of them had been begun).
    configs: list[tuple[Moment, dict[str, str]]] = field(default_factory=list)
    kept: list[tuple[Moment, int]] = field(default_factory=list)
    #: When a clean stop promised the topic, be there records or not.
    promised: Moment | None = None

    def configs_possible(self, moment: Moment) -> list[dict[str, str]]:
        first = max((count - 1 for promised, count in self.kept if promised <= moment), default=0)
        return [configs for begun, configs in self.configs[first:] if begun <= moment]


@dataclass
class Ledger:
    """All topics there ever were, by id."""

    topics: dict[bytes, TopicTale] = field(default_factory=dict)

    def log(self, log_id: LogId) -> LogTale:
        topic_id, index = log_id
        return self.topics[topic_id].logs.setdefault(index, LogTale())

    def must_be_there(self, moment: Moment) -> Iterator[tuple[LogId, int]]:
        """(a log, where it ends at the least) of all that was promised and not to be deleted."""
        for topic_id, topic in self.topics.items():
            if topic.doomed is not None and topic.doomed <= moment:
                continue
            for index, log in topic.logs.items():
                if end := log.end_promised(moment):
                    yield (topic_id, index), end

    def topics_that_must_be_there(self, moment: Moment) -> Iterator[bytes]:
        """The ids of topics that a clean stop promised, be there records or not."""
        for topic_id, topic in self.topics.items():
            is_doomed = topic.doomed is not None and topic.doomed <= moment
            if topic.promised is not None and topic.promised <= moment and not is_doomed:
                yield topic_id

    def after(self, found: Mapping[LogId, tuple[int, int]]) -> Ledger:
        """That of the next life of a device on which these logs were found, from here to there: they are on it."""
        fresh = deepcopy(self)
        ids = {topic_id for topic_id, _ in found}
        fresh.topics = {topic_id: topic for topic_id, topic in fresh.topics.items() if topic_id in ids}
        for topic_id, topic in fresh.topics.items():
            topic.promised, topic.doomed, topic.gone = 0, None, None
            topic.configs = [(0, configs) for _, configs in topic.configs]
            topic.kept = []
            topic.logs = {index: log for index, log in topic.logs.items() if (topic_id, index) in found}
            for index, log in topic.logs.items():
                log.cut(*found[topic_id, index])
        return fresh
