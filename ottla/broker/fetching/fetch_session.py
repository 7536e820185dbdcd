"""Fetch sessions (KIP-227): a consumer of many partitions says what it wants once, and then only what has changed.

    client                                          broker
    session 0, epoch 0, all partitions      ──▶     makes session 7, remembers the partitions
                                            ◀──     session 7, all partitions
    session 7, epoch 1, p3 from offset 10   ──▶     changes p3
                                            ◀──     session 7, only partitions with news
    session 7, epoch 2, forget p1           ──▶     …

The epoch counts the requests, so that a lost or repeated one shows: a wrong epoch is refused, and the client begins
anew. Epoch 0 begins (closing the session named, if any), -1 ends; both are full requests, with every partition. From
v13 on partitions go by topic id instead of name, and a session is of one kind or the other.

There is room for so many sessions (max.incremental.fetch.session.cache.slots). When it is full, a new one may take the
place of one unused for two minutes, or else of a smaller one that is two minutes old; failing that there is no session,
which is no error: the client goes on with full requests. Sessions belong to a node and to no connection.

There is also room for so many partitions in all of them (not Kafka's), and with that it is the same. A session that
grows beyond is closed, and its client begins anew.

Kafka: FetchManager, FetchContext, FetchSession, FetchSessionCacheShard. Its cache has eight shards, to keep threads
apart, each with an eighth of the room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from ottla.cluster.partition_access import NO_LEADER_EPOCH
from ottla.pacing import paced
from ottla.protocol.errors import NONE, ErrorCode
from ottla.protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from ottla.log.partition_answers import ReadResult

NO_SESSION: Final = 0
_EPOCH_OF_BEGINNING: Final = 0
_EPOCH_OF_END: Final = -1
_EPOCH_MAX: Final = 2**31 - 1
_SESSION_ID_MAX: Final = 2**31 - 1
#: Kafka: KafkaBroker.MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS.
EVICTION_MS: Final = 120_000
#: Partitions in all sessions of a node, together.
SESSION_PARTITIONS_MAX: Final = 100_000
#: What a partition takes in a session, roughly.
_ENTRY_BYTES: Final = 400

#: A partition as clients name it in one session: (topic's name, or from v13 on its id; number).
Key: TypeAlias = tuple[str | bytes, int]


@dataclass(slots=True)
class FetchedPartition:
    """A partition that somebody fetches: what they ask, and in a session what they were told last."""

    #: None: nobody here knows the id.
    topic: str | None
    #: Zero: the topic goes by its name.
    topic_id: bytes
    index: int
    fetch_offset: int
    bytes_max: int
    current_leader_epoch: int = NO_LEADER_EPOCH
    last_fetched_epoch: int = -1
    high_watermark: int = -1
    log_start_offset: int = -1

    @property
    def key(self) -> Key:
        return self.topic or "" if self.topic_id == ZERO_UUID else self.topic_id, self.index

    def ask_as(self, other: FetchedPartition) -> None:
        """Ask what `other` asks."""
        self.fetch_offset = other.fetch_offset
        self.bytes_max = other.bytes_max
        self.current_leader_epoch = other.current_leader_epoch
        self.last_fetched_epoch = other.last_fetched_epoch

    def tell(self, result: ReadResult) -> bool:
        """Remember what the client is about to be told. False: that is no news, and it need not be."""
        is_news = (
            len(result.records) > 0
            or result.high_watermark != self.high_watermark
            or result.log_start_offset != self.log_start_offset
            or result.error != ErrorCode.NONE
            or result.diverging_epoch is not None
        )
        # In errors these are -1, so that the end of an error is news again.
        self.high_watermark = result.high_watermark
        self.log_start_offset = result.log_start_offset
        return is_news


#: What was found for each partition, in the order of the answer.
Found: TypeAlias = list[tuple[FetchedPartition, "ReadResult"]]


@dataclass(slots=True, eq=False)
class FetchSession:
    """What a client wants, in the order it is to be served."""

    session_id: int
    #: Made by a replica, which goes before consumers.
    is_privileged: bool
    uses_topic_ids: bool
    partitions: dict[Key, FetchedPartition]
    created_ms: int
    used_ms: int
    epoch: int = 1
    #: How many partitions it had when it was last used.
    size: int = 0
    #: What they count for in the room there is.
    weight: int = 0

    @property
    def rank(self) -> tuple[bool, int, int]:
        """What it counts for when somebody has to go: the least goes first."""
        return self.is_privileged, self.size, self.session_id

    def change(self, asked: Mapping[Key, FetchedPartition], forgotten: Iterable[Key]) -> None:
        """What the client wants otherwise than before."""
        for key, partition in asked.items():
            known = self.partitions.get(key)
            if known is None:
                self.partitions[key] = partition
                self.weight += _weight(key)
            else:
                known.ask_as(partition)
        for key in forgotten:
            if self.partitions.pop(key, None) is not None:
                self.weight -= _weight(key)


class FetchContext(Protocol):
    """One request, seen by sessions: what it wants, and what of the things found belongs into its answer."""

    @property
    def partitions(self) -> Iterable[FetchedPartition]:
        """What the request wants, in the order it is to be served."""

    def conclude(self, found: Found) -> tuple[ErrorCode, int, Found]:
        """(error, session id, what to tell) of the answer."""


class Sessionless:
    """A full request without a session: it is told everything."""

    __slots__ = ("partitions",)

    def __init__(self, partitions: Iterable[FetchedPartition]) -> None:
        self.partitions = partitions

    def conclude(self, found: Found) -> tuple[ErrorCode, int, Found]:
        return NONE, NO_SESSION, found


class Beginning:
    """A full request that a session begins with, if there is room: it is told everything."""

    __slots__ = ("_cache", "_is_privileged", "_uses_topic_ids", "partitions")

    def __init__(
        self,
        cache: FetchSessionCache,
        partitions: Iterable[FetchedPartition],
        *,
        uses_topic_ids: bool,
        is_privileged: bool,
    ) -> None:
        self.partitions = partitions
        self._cache = cache
        self._uses_topic_ids = uses_topic_ids
        self._is_privileged = is_privileged

    def conclude(self, found: Found) -> tuple[ErrorCode, int, Found]:
        session = self._cache.create(
            {partition.key: partition for partition, _ in paced(found)},
            uses_topic_ids=self._uses_topic_ids,
            is_privileged=self._is_privileged,
        )
        if session is None:
            return ErrorCode.NONE, NO_SESSION, found
        for partition, result in paced(found):
            partition.tell(result)
        return ErrorCode.NONE, session.session_id, found


class Incremental:
    """A request within a session: it is told the news."""

    __slots__ = ("_epoch", "_session", "partitions")

    def __init__(self, session: FetchSession) -> None:
        self._session = session
        self._epoch = session.epoch
        self.partitions = session.partitions.values()

    def conclude(self, found: Found) -> tuple[ErrorCode, int, Found]:
        session = self._session
        if session.epoch != self._epoch:
            # While this request waited, the session went on with another one.
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH, session.session_id, []
        news = []
        for partition, result in paced(found):
            key = partition.key
            if key in session.partitions and partition.tell(result):
                news.append((partition, result))
                if result.records:
                    # It goes to the end, or the first ones would fill every answer.
                    session.partitions[key] = session.partitions.pop(key)
        return ErrorCode.NONE, session.session_id, news


class FetchSessionCache:
    """The sessions of one node."""

    __slots__ = ("_now_ms", "_random_source", "_sessions", "_weight", "partitions_max", "slots")

    def __init__(
        self,
        slots: int,
        now_ms: Callable[[], int],
        partitions_max: int = SESSION_PARTITIONS_MAX,
        random_source: Random | None = None,
    ) -> None:
        """`random_source`: gives the ids; None: the system's."""
        self.slots = slots
        self.partitions_max = partitions_max
        self._weight = 0
        self._now_ms = now_ms
        self._random_source: Random = random_source or SystemRandom()
        #: By id; the one unused for longest comes first.
        self._sessions: dict[int, FetchSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, session_id: int) -> FetchSession | None:
        return self._sessions.get(session_id)

    @property
    def partition_count(self) -> int:
        """Partitions in all sessions."""
        return sum(session.size for session in self._sessions.values())

    def begin_or_go_on(
        self,
        session_id: int,
        session_epoch: int,
        asked: dict[Key, FetchedPartition],
        forgotten: Iterable[Key],
        *,
        uses_topic_ids: bool,
        is_privileged: bool,
    ) -> FetchContext | ErrorCode:
        """What a request is within sessions, or why it is in none."""
        if session_epoch in (_EPOCH_OF_BEGINNING, _EPOCH_OF_END):
            self._close(session_id)
            if session_epoch == _EPOCH_OF_END:
                return Sessionless(asked.values())
            return Beginning(self, list(asked.values()), uses_topic_ids=uses_topic_ids, is_privileged=is_privileged)
        session = self._sessions.get(session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != session_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.uses_topic_ids != uses_topic_ids:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        self._weight -= session.weight
        session.change(asked, forgotten)
        self._weight += session.weight
        if not session.partitions:
            self._close(session_id)
            return Sessionless(asked.values())
        self._touch(session, self._now_ms())
        if self._weight > self.partitions_max:
            self._close(session_id)
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        session.epoch = 1 if session.epoch == _EPOCH_MAX else session.epoch + 1
        return Incremental(session)

    def create(
        self, partitions: dict[Key, FetchedPartition], *, uses_topic_ids: bool, is_privileged: bool
    ) -> FetchSession | None:
        """A new session, or None where there is no room."""
        now_ms = self._now_ms()
        weight = sum(map(_weight, partitions))
        if weight > self.partitions_max:
            return None
        while len(self._sessions) >= self.slots or self._weight + weight > self.partitions_max:
            if not self._evict((is_privileged, len(partitions), 0), now_ms):
                return None
        session_id = self._random_source.randint(1, _SESSION_ID_MAX)
        while session_id in self._sessions:
            session_id = self._random_source.randint(1, _SESSION_ID_MAX)
        session = FetchSession(session_id, is_privileged, uses_topic_ids, partitions, now_ms, now_ms, weight=weight)
        self._weight += weight
        self._sessions[session_id] = session
        self._touch(session, now_ms)
        return session

    def _touch(self, session: FetchSession, now_ms: int) -> None:
        """The session is used: it goes to the end of the queue."""
        del self._sessions[session.session_id]
        self._sessions[session.session_id] = session
        session.used_ms = now_ms
        session.size = len(session.partitions)

    def _close(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._weight -= session.weight

    def _evict(self, newcomer_rank: tuple[bool, int, int], now_ms: int) -> bool:
        """Make room for a session that counts so much, if somebody may be put out for it."""
        longest_unused = next(iter(self._sessions.values()), None)
        if longest_unused is None:
            return False
        if now_ms - longest_unused.used_ms > EVICTION_MS:
            self._close(longest_unused.session_id)
            return True
        is_privileged = newcomer_rank[0]
        # As in Kafka a session becomes evictable only with its first use after the two minutes.
        evictable = [
            session
            for session in self._sessions.values()
            if session.used_ms - session.created_ms > EVICTION_MS or (is_privileged and not session.is_privileged)
        ]
        least = min(evictable, key=lambda session: session.rank, default=None)
        if least is None or newcomer_rank < least.rank:
            return False
        self._close(least.session_id)
        return True


def _weight(key: Key) -> int:
    """What a partition counts for: one, and more where its name is longer than an entry is large."""
    return 1 + len(key[0]) // _ENTRY_BYTES
