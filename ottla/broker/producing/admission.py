"""What a Produce with transactional batches has to pass before they are appended: each partition asks the coordinator.

Only the first batch of a transaction in a partition is asked for; as long as it is open there, those that follow go
straight on. While the transaction before is being completed the partition asks again, for a moment, so that the
producer need not send it all anew. What is waited for is the broker's own work, so where the clock stands still a
millisecond is a turn of the loop: no test has to move the clock for it.

Kafka: ReplicaManager.handleProduceAppend.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from ottla.broker.transactions.asking import Asking, ask, of_produce
from ottla.log.partition_answers import AppendResult
from ottla.log.producer_state import Verification
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.purgatory import Alarm

if TYPE_CHECKING:
    from ottla.broker.network.call import Call
    from ottla.coordinator.transactions.transaction import TopicPartition
    from ottla.log.partition import Partition
    from ottla.protocol.primitives import Message
    from ottla.protocol.records import BatchHeader

_NOT_ADDED: Final = "Partition was not added to the transaction"
_UNABLE: Final = "Unable to verify the partition has been added to the transaction. Underlying error: "

#: However patient the settings say.
_TURNS_MAX: Final = 1_000
#: What clients of before v12 may not retry rightly; they are told NOT_ENOUGH_REPLICAS.
_NOT_VERIFIED: Final = frozenset(
    (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    )
)


class Batch(NamedTuple):
    """A transactional batch that a partition of this node is to take."""

    log: Partition
    header: BatchHeader
    is_led_here: bool


#: Goes on handling the request, with the batches that are refused, and what the others are appended with.
GoOn: TypeAlias = "Callable[[dict[TopicPartition, AppendResult], dict[TopicPartition, Verification]], Message | None]"


class Admission:
    """The transactional batches of one request on their way in."""

    def __init__(
        self,
        call: Call,
        transactional_id: str,
        producer: tuple[int, int],
        batches: Mapping[TopicPartition, Batch],
        go_on: GoOn,
    ) -> None:
        self._call = call
        self._transactional_id = transactional_id
        self._producer = producer
        self._batches = batches
        self._go_on = go_on
        self._asking = of_produce(call.api_version)
        self._begun_ms = call.node.timer.now_ms()
        self._stands_still = call.node.clock.stands_still
        #: How often it was asked again.
        self._turns = 0

    def begin(self) -> None:
        """Ask the coordinator; the call goes on when it has answered."""
        settings = self._call.node.cluster.settings
        if self._asking is not Asking.ADD and not settings["transaction.partition.verification.enable"]:
            self._end({}, {})
            return
        refused: dict[TopicPartition, ErrorCode] = {}
        verifications: dict[TopicPartition, Verification] = {}
        for place, batch in paced(self._batches.items()):
            verification = self._start(batch)
            if isinstance(verification, ErrorCode):
                refused[place] = verification
            elif verification is not None:
                verifications[place] = verification
        if not verifications:
            self._end(refused, verifications)
            return
        ask(
            self._call.node.transactions,
            self._transactional_id,
            *self._producer,
            verifications,
            self._asking,
            lambda errors: self._answered(refused | errors, verifications),
        )

    def _start(self, batch: Batch) -> ErrorCode | Verification | None:
        """What the batch needs; None: its transaction is open there."""
        if not batch.is_led_here:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        header = batch.header
        return batch.log.producers.start_verification(
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            self._asking is Asking.ADD,
            self._call.node.clock.wall_ms(),
        )

    def _answered(
        self, refused: dict[TopicPartition, ErrorCode], verifications: dict[TopicPartition, Verification]
    ) -> None:
        is_busy = ErrorCode.CONCURRENT_TRANSACTIONS in refused.values()
        if self._asking is not Asking.ADD or not is_busy or not self._begin_again():
            self._end(refused, verifications)

    def _begin_again(self) -> bool:
        """Ask once more in a moment, unless that was done long enough."""
        node = self._call.node
        timer, settings = node.timer, node.cluster.settings
        patience_ms: int = settings["add.partitions.to.txn.retry.backoff.max.ms"]
        if self._stands_still:
            delay_ms, is_patient = 0, self._turns < min(patience_ms, _TURNS_MAX)
        else:
            delay_ms = settings["add.partitions.to.txn.retry.backoff.ms"]
            is_patient = timer.now_ms() < self._begun_ms + patience_ms
        if is_patient:
            self._turns += 1
            timer.add_in(Alarm(self.begin, "adding partitions to a transaction"), delay_ms)
        return is_patient

    def _end(self, refused: dict[TopicPartition, ErrorCode], verifications: dict[TopicPartition, Verification]) -> None:
        results = {place: refused_by(error, self._asking) for place, error in paced(refused.items())}
        self._call.go_on(partial(self._go_on, results, verifications))


def refused_by(error: ErrorCode, asking: Asking) -> AppendResult:
    """What a producer is told when its batch may not be appended for this."""
    if error is ErrorCode.INVALID_TXN_STATE:
        return AppendResult(error, error_message=_NOT_ADDED)
    is_busy = error is ErrorCode.CONCURRENT_TRANSACTIONS and asking is not Asking.ADD
    if is_busy or error in _NOT_VERIFIED:
        return AppendResult(ErrorCode.NOT_ENOUGH_REPLICAS, error_message=_UNABLE + error.name)
    return AppendResult(error)
