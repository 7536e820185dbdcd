"""Transactions: who may begin, add, write, commit offsets and end; markers; time; what is shown of it."""

from __future__ import annotations

from typing import Any

from ottla.conformance.batches import batch
from ottla.conformance.cast import Member, stable_group
from ottla.conformance.partitions import Topic, new_topic, produce
from ottla.conformance.producer import TIMEOUT_MS, TRANSACTIONAL, Producer, shown
from ottla.conformance.scene import Scene
from ottla.conformance.script import every, script
from ottla.conformance.transcript import PRODUCER_ID_OF_SCRIPTS
from ottla.protocol.messages.describe_producers import DescribeProducersRequest
from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.list_transactions import ListTransactionsRequest
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from ottla.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from ottla.protocol.primitives import ZERO_UUID

#: Versions for what is not recorded, or not what a script is about: the last that clients of before KIP-890 use.
_INIT, _ADD, _ADD_OFFSETS, _END, _PRODUCE, _OFFSETS = 4, 3, 3, 4, 11, 4
#: The same of those after it.
_END_2, _PRODUCE_2, _OFFSETS_2 = 5, 12, 5


# ── InitProducerId ────────────────────────────────────────────────────────────────────────────────────────────────────


@script(versions=every("InitProducerId"))
def begin_with_a_transactional_id(scene: Scene, version: int) -> None:
    """One epoch after the other; timeouts at their bounds; what makes no sense."""
    ana = Producer(scene)
    for _ in range(3):
        ana.actor.ask(ana.init())
    for timeout_ms in (0, -1, 1, 900_000, 900_001):
        ana.actor.ask(ana.init(timeout_ms=timeout_ms))
    ana.actor.ask(InitProducerIdRequest("", TIMEOUT_MS))
    if version >= 3:
        ana.actor.ask(ana.init(who=(PRODUCER_ID_OF_SCRIPTS, -1)))
        ana.actor.ask(ana.init(who=(-1, 5)))


@script(versions=(3, 4, 5))
def begin_again_after_an_error(scene: Scene, version: int) -> None:
    """With the current epoch; once more; with an older one; with one that is to come; with another producer id."""
    ana = Producer(scene).begin()
    first = ana.producer_id, ana.producer_epoch
    ana.actor.ask(ana.init(who=first))
    second = ana.learn(ana.actor.ask(ana.init(who=first)))
    ana.actor.ask(ana.init(who=(second.producer_id, second.producer_epoch)))
    ana.actor.ask(ana.init(who=first))
    ana.actor.ask(ana.init(who=(first[0], 7)))
    ana.actor.ask(ana.init(who=(PRODUCER_ID_OF_SCRIPTS, 0)))
    ana.actor.ask(ana.init())
    ana.actor.ask(ana.init(who=(second.producer_id, second.producer_epoch)))
    new = Producer(scene)
    new.actor.ask(new.init(who=(PRODUCER_ID_OF_SCRIPTS, 3)))


@script(versions=every("InitProducerId"))
def begin_while_a_transaction_is_open(scene: Scene, version: int) -> None:
    """It is aborted first, and its producer is fenced: in Produce, EndTxn, AddPartitionsToTxn, TxnOffsetCommit."""
    topic = new_topic(scene)
    ana = Producer(scene).begin()
    ana.actor.quietly(ana.add((topic.name, 0)), _ADD)
    ana.actor.ask(ana.send(topic, b"1"), _PRODUCE)
    bo = Producer(scene, ana.transactional_id, "bo")
    bo.actor.ask(bo.init())
    bo.settles()
    bo.learn(bo.actor.ask(bo.init()))
    ana.actor.ask(ana.send(topic, b"2"), _PRODUCE)
    ana.actor.ask(ana.send(topic, b"2"), _PRODUCE_2)
    ana.actor.ask(ana.add((topic.name, 0)), _ADD)
    ana.actor.ask(ana.add((topic.name, 0)), 1)
    ana.actor.ask(ana.add_offsets(scene.name("group")), _ADD_OFFSETS)
    for end_version in (1, _END, _END_2):
        ana.actor.ask(ana.end(commit=True), end_version)
    if version >= 3:
        ana.actor.ask(ana.init(who=(ana.producer_id, ana.producer_epoch)))
    shown(scene, bo, topic)


# ── AddPartitionsToTxn, AddOffsetsToTxn ───────────────────────────────────────────────────────────────────────────────


@script(versions=every("AddPartitionsToTxn"))
def add_partitions(scene: Scene, version: int) -> None:
    """What is there, again, none; what is not there; by whom not."""
    topic = new_topic(scene, partitions=2)
    ana = Producer(scene).begin()
    who = ana.producer_id, ana.producer_epoch
    stranger = Producer(scene)
    stranger.actor.ask(stranger.add((topic.name, 0), who=(PRODUCER_ID_OF_SCRIPTS, 0)))
    ana.actor.ask(ana.add((topic.name, 0), (topic.name, 9)))
    ana.actor.ask(ana.add((scene.name("absent"), 0)))
    ana.actor.ask(ana.add((topic.name, 0)))
    ana.actor.ask(ana.add((topic.name, 0), (topic.name, 1)))
    ana.actor.ask(ana.add((topic.name, 1)))
    ana.actor.ask(ana.add((topic.name, 0), who=(PRODUCER_ID_OF_SCRIPTS, 0)))
    ana.actor.ask(ana.add((topic.name, 0), who=(who[0], 1)))
    ana.actor.ask(ana.add((topic.name, 0), who=(who[0], -1)))
    shown(scene, ana)
    ana.ends(commit=True)
    ana.actor.ask(ana.add((topic.name, 1)))
    shown(scene, ana)


@script(versions=(4, 5))
def verify_partitions(scene: Scene, version: int) -> None:
    """Only asked for: what was added, what wasn't, by whom not; after the end nothing is."""
    topic = new_topic(scene, partitions=2)
    ana = Producer(scene).begin()
    stranger = Producer(scene)
    stranger.actor.ask(stranger.add((topic.name, 0), who=(PRODUCER_ID_OF_SCRIPTS, 0), verify=True))
    ana.actor.ask(ana.add((topic.name, 0), verify=True))
    ana.actor.quietly(ana.add((topic.name, 0)), _ADD)
    ana.actor.ask(ana.add((topic.name, 0), verify=True))
    ana.actor.ask(ana.add((topic.name, 0), (topic.name, 1), verify=True))
    ana.actor.ask(ana.add((topic.name, 0), (topic.name, 7), verify=True))
    ana.actor.ask(ana.add((topic.name, 0), who=(PRODUCER_ID_OF_SCRIPTS, 0), verify=True))
    ana.actor.ask(ana.add((topic.name, 0), who=(ana.producer_id, 1), verify=True))
    ana.ends(commit=False)
    ana.actor.ask(ana.add((topic.name, 0), verify=True))
    ana.actor.ask(ana.add(verify=True))


@script(versions=every("AddOffsetsToTxn"))
def add_offsets(scene: Scene, version: int) -> None:
    """Of a group that nobody knows; again; by whom not."""
    group = scene.name("group")
    ana = Producer(scene).begin()
    stranger = Producer(scene)
    stranger.actor.ask(stranger.add_offsets(group, who=(PRODUCER_ID_OF_SCRIPTS, 0)))
    ana.actor.ask(ana.add_offsets(group))
    ana.actor.ask(ana.add_offsets(group))
    ana.actor.ask(ana.add_offsets("", who=(ana.producer_id, 3)))
    ana.actor.ask(ana.add_offsets(group, who=(PRODUCER_ID_OF_SCRIPTS, 0)))


# ── Produce ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@script(versions=every("Produce"))
def produce_in_a_transaction(scene: Scene, version: int) -> None:
    """Without the partition being added, which newer versions do by themselves; then with it; a plain batch between."""
    topic = new_topic(scene)
    ana = Producer(scene).begin()
    ana.actor.ask(ana.send(topic, b"1", sequence=0))
    if version <= _PRODUCE:
        ana.actor.quietly(ana.add((topic.name, 0)), _ADD)
        ana.actor.ask(ana.send(topic, b"1", sequence=0))
    ana.actor.ask(ana.send(topic, b"2"))
    ana.actor.ask(ana.send(topic, b"2", sequence=1))
    plain = batch(producer_id=ana.producer_id, producer_epoch=ana.producer_epoch, base_sequence=2)
    ana.actor.ask(produce(topic, plain))
    ana.actor.ask(ana.send(topic, b"3", sequence=2, epoch=7))
    ana.actor.ask(ana.send(topic, b"3", sequence=5))
    shown(scene, ana, topic)


@script(versions=every("Produce"))
def produce_of_strangers_in_a_transaction(scene: Scene, version: int) -> None:
    """An unknown transactional id, an empty one, another producer id, another epoch; beside a plain batch."""
    topic = new_topic(scene, partitions=2)
    ana = Producer(scene).begin()
    for transactional_id, producer_id, epoch in (
        (scene.name("unknown"), ana.producer_id, 0),
        ("", ana.producer_id, 0),
        (ana.transactional_id, PRODUCER_ID_OF_SCRIPTS, 0),
        (ana.transactional_id, ana.producer_id, 3),
    ):
        data = batch(attributes=TRANSACTIONAL, producer_id=producer_id, producer_epoch=epoch, base_sequence=0)
        ana.actor.ask(produce(topic, data, batch(), transactional_id=transactional_id))
        ana.actor.ask(produce(topic, data, acks=1, transactional_id=transactional_id))


@script(versions=(12, 13))
def produce_from_the_middle(scene: Scene, version: int) -> None:
    """A producer that the partition does not know begins at 0; the next transaction too, in its own epoch."""
    topic = new_topic(scene)
    ana = Producer(scene).begin()
    ana.actor.ask(ana.send(topic, b"1", sequence=5))
    ana.actor.ask(ana.send(topic, b"1", sequence=0))
    first = ana.producer_epoch
    ana.ends(commit=True, version=_END_2)
    ana.actor.ask(ana.send(topic, b"2", sequence=1, epoch=first))
    ana.actor.ask(ana.send(topic, b"2", sequence=1))
    ana.actor.ask(ana.send(topic, b"2", sequence=0))
    shown(scene, ana, topic)


@script(versions=(12, 13))
def produce_what_is_refused_before_the_marker(scene: Scene, version: int) -> None:
    """It was let in, so what has a higher number is held back; also after the end, if that raises no epoch."""
    topic = new_topic(scene)
    ana = Producer(scene).begin()
    for end_version in (_END, _END_2):
        ana.actor.ask(ana.send(topic, b"1", sequence=-1))
        ana.ends(commit=True, version=end_version)
        ana.actor.ask(ana.send(topic, b"2", sequence=0))
    shown(scene, ana, topic)


# ── EndTxn ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@script(versions=every("EndTxn"))
def end_nothing(scene: Scene, version: int) -> None:
    """No id, an unknown one; no transaction; by whom not."""
    stranger = Producer(scene)
    stranger.actor.ask(stranger.end(commit=True, who=(PRODUCER_ID_OF_SCRIPTS, 0)))
    stranger.actor.ask(EndTxnRequest("", PRODUCER_ID_OF_SCRIPTS, 0, True))
    ana = Producer(scene).begin()
    ana.actor.ask(ana.end(commit=True))
    ana.actor.ask(ana.end(commit=True, who=(PRODUCER_ID_OF_SCRIPTS, 0)))
    ana.actor.ask(ana.end(commit=True, who=(ana.producer_id, 1)))
    ana.actor.ask(ana.end(commit=False, who=(ana.producer_id, -1)))
    ana.actor.ask(ana.end(commit=False))
    shown(scene, ana)


@script(versions=every("EndTxn"))
def commit_and_abort(scene: Scene, version: int) -> None:
    """Each twice, and the other one after it; what readers see of it."""
    topic = new_topic(scene)
    ana = Producer(scene).begin()
    for number, commit in enumerate((True, False, False, True)):
        ana.actor.quietly(ana.add((topic.name, 0)), _ADD)
        answer = ana.actor.quietly(ana.send(topic, b"%d" % number, b"more"), _PRODUCE)
        assert answer.responses[0].partition_responses[0].error_code == 0, answer
        who = ana.producer_id, ana.producer_epoch
        ana.learn(ana.actor.ask(ana.end(commit=commit, who=who)))
        ana.settles()
        ana.actor.ask(ana.end(commit=commit, who=who))
        ana.actor.ask(ana.end(commit=not commit, who=who))
        shown(scene, ana, topic)
    ana.actor.ask(ana.send(topic, b"again", sequence=0), _PRODUCE)


@script(versions=every("EndTxn"))
def a_plain_producer_beside_a_transaction(scene: Scene, version: int) -> None:
    """Its records are held back from who reads committed ones, and come with them."""
    topic = new_topic(scene)
    ana = Producer(scene).begin()
    ana.actor.quietly(produce(topic, batch(((b"k", b"before"),))), 9)
    ana.actor.quietly(ana.add((topic.name, 0)), _ADD)
    ana.actor.quietly(ana.send(topic, b"open"), _PRODUCE)
    ana.actor.quietly(produce(topic, batch(((b"k", b"after"),))), 9)
    shown(scene, ana, topic)
    ana.learn(ana.actor.ask(ana.end(commit=False)))
    shown(scene, ana, topic)


# ── TxnOffsetCommit ───────────────────────────────────────────────────────────────────────────────────────────────────


def _fetch_offsets(group: str, topic: Topic, *, require_stable: bool) -> OffsetFetchRequest:
    listed = OffsetFetchRequest.OffsetFetchRequestTopics(topic.name, ZERO_UUID, [0, 1])
    asked = OffsetFetchRequest.OffsetFetchRequestGroup(group, topics=[listed])
    return OffsetFetchRequest(groups=[asked], require_stable=require_stable)


def offsets_shown(producer: Producer, group: str, topic: Topic) -> None:
    for require_stable in (False, True):
        producer.actor.ask(_fetch_offsets(group, topic, require_stable=require_stable), 8)


@script(versions=every("TxnOffsetCommit"))
def commit_offsets_in_a_transaction(scene: Scene, version: int) -> None:
    """Pending until the end; then they count, or never did; a plain commit between stays."""
    topic, group = new_topic(scene, partitions=2), scene.name("group")
    ana = Producer(scene).begin()
    ana.actor.ask(ana.commit_offsets(group, topic, 5))
    for commit in (True, False, True):
        if version <= _OFFSETS:
            ana.actor.quietly(ana.add_offsets(group), _ADD_OFFSETS)
        ana.actor.ask(ana.commit_offsets(group, topic, 7, 8))
        offsets_shown(ana, group, topic)
        ana.ends(commit=commit, version=_END if version <= _OFFSETS else _END_2)
        offsets_shown(ana, group, topic)
    if version <= _OFFSETS:
        ana.actor.quietly(ana.add_offsets(group), _ADD_OFFSETS)
    ana.actor.ask(ana.commit_offsets(group, topic, 20, 21))
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, 30)
    plain = OffsetCommitRequest.OffsetCommitRequestTopic(topic.name, partitions=[partition])
    ana.actor.quietly(OffsetCommitRequest(group, topics=[plain]), 8)
    offsets_shown(ana, group, topic)
    ana.ends(commit=True, version=_END if version <= _OFFSETS else _END_2)
    offsets_shown(ana, group, topic)


@script(versions=every("TxnOffsetCommit"), needs=("offset.metadata.max.bytes",))
def commit_offsets_that_are_refused(scene: Scene, version: int) -> None:
    """Unknown topics and partitions, too much metadata, no group, a generation of no group; by whom not."""
    topic, group = new_topic(scene), scene.name("group")
    ana = Producer(scene).begin()
    ana.actor.quietly(ana.add_offsets(group), _ADD_OFFSETS)
    ana.actor.ask(ana.commit_offsets(group, topic, 1, 2))
    ana.actor.ask(ana.commit_offsets(group, Topic(scene.name("absent"), b"\7" * 16), 1))
    both = ana.commit_offsets(group, topic, 1, 2)
    both.topics += ana.commit_offsets(group, Topic(scene.name("absent"), b"\7" * 16), 1).topics
    ana.actor.ask(both)
    ana.actor.ask(ana.commit_offsets(group, topic, 1, topics=[]))
    long = ana.commit_offsets(group, topic, 1)
    long.topics[0].partitions[0].committed_metadata = "m" * 65
    ana.actor.ask(long)
    ana.actor.ask(ana.commit_offsets("", topic, 1))
    ana.actor.ask(ana.commit_offsets(group, topic, 1, who=(ana.producer_id, 3)))
    ana.actor.ask(ana.commit_offsets(group, topic, 1, who=(PRODUCER_ID_OF_SCRIPTS, 0)))
    unknown = Producer(scene)
    unknown.actor.ask(unknown.commit_offsets(group, topic, 1, who=(PRODUCER_ID_OF_SCRIPTS, 0)))
    if version >= 3:
        other = scene.name("other group")
        ana.actor.quietly(ana.add_offsets(other), _ADD_OFFSETS)
        ana.actor.ask(ana.commit_offsets(other, topic, 1, generation_id_or_member_epoch=0, member_id="made up"))


@script(versions=(3, 4, 5, 6))
def commit_offsets_of_members(scene: Scene, version: int) -> None:
    """A member in its generation, in another one; a member id that is none; without any of it."""
    topic, group = new_topic(scene), scene.name("group")
    member = Member(scene, group, "bo")
    stable_group(scene, member)
    ana = Producer(scene).begin()
    ana.actor.quietly(ana.add_offsets(group), _ADD_OFFSETS)
    known: dict[str, Any] = {"member_id": member.member_id, "generation_id_or_member_epoch": member.generation_id}
    for said in (
        known,
        known | {"generation_id_or_member_epoch": member.generation_id + 1},
        known | {"generation_id_or_member_epoch": -1},
        known | {"member_id": "made up"},
        known | {"group_instance_id": "nobody's"},
        {},
    ):
        ana.actor.ask(ana.commit_offsets(group, topic, 1, **said))


# ── Markers ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _marker(
    producer_id: int,
    epoch: int,
    *places: tuple[str, int],
    commit: bool = False,
    coordinator_epoch: int = 0,
    level: int = 0,
) -> WriteTxnMarkersRequest.WritableTxnMarker:
    topics: dict[str, list[int]] = {}
    for topic, index in places:
        topics.setdefault(topic, []).append(index)
    listed = [WriteTxnMarkersRequest.WritableTxnMarkerTopic(name, indexes) for name, indexes in topics.items()]
    return WriteTxnMarkersRequest.WritableTxnMarker(producer_id, epoch, commit, listed, coordinator_epoch, level)


@script(versions=every("WriteTxnMarkers"))
def write_markers(scene: Scene, version: int) -> None:
    """Nowhere; of nobody; twice; of older epochs; none at all."""
    topic = new_topic(scene, partitions=2)
    ana = scene.actor()
    producer_id, place = PRODUCER_ID_OF_SCRIPTS + 1, (topic.name, 0)
    for markers in (
        [_marker(producer_id, 3, place, (topic.name, 7), (scene.name("absent"), 0))],
        [_marker(producer_id, 3, place, commit=True)],
        [_marker(producer_id, 2, place)],
        [_marker(producer_id, 4, place, coordinator_epoch=5)],
        [_marker(producer_id, 4, place, coordinator_epoch=4)],
        [_marker(producer_id, 5, place, coordinator_epoch=5), _marker(producer_id + 1, 0, (topic.name, 1))],
        [_marker(producer_id, 6, place, coordinator_epoch=5), _marker(producer_id, 6, (topic.name, 1))],
        [_marker(producer_id, 6, place, coordinator_epoch=5, level=2)],
        [_marker(producer_id, 7, (scene.name("absent"), 0))],
        [],
    ):
        ana.ask(WriteTxnMarkersRequest(markers))
    asked = DescribeProducersRequest.TopicRequest(topic.name, [0, 1])
    ana.ask(DescribeProducersRequest([asked]), 0)


@script(versions=every("WriteTxnMarkers"))
def end_a_transaction_by_hand(scene: Scene, version: int) -> None:
    """As Kafka's tool ends one that hangs: with its epoch. From transaction version 2 on a later one is needed."""
    topic = new_topic(scene)
    ana = Producer(scene).begin()
    ana.actor.quietly(ana.add((topic.name, 0)), _ADD)
    ana.actor.quietly(ana.send(topic, b"1"), _PRODUCE)
    place = topic.name, 0
    ana.actor.ask(WriteTxnMarkersRequest([_marker(ana.producer_id, ana.producer_epoch, place, level=2)]))
    ana.actor.ask(WriteTxnMarkersRequest([_marker(ana.producer_id, ana.producer_epoch, place)]))
    ana.actor.ask(ana.send(topic, b"2"), _PRODUCE)
    shown(scene, ana, topic)


# ── Time, and what is shown ───────────────────────────────────────────────────────────────────────────────────────────


@script(versions=every("EndTxn"))
def open_for_too_long(scene: Scene, version: int) -> None:
    """It is aborted, and its producer fenced."""
    topic = new_topic(scene)
    ana = Producer(scene)
    ana.learn(ana.actor.quietly(ana.init(timeout_ms=1), _INIT))
    ana.actor.quietly(ana.add((topic.name, 0)), _ADD)

    def aborted() -> bool:
        request = DescribeTransactionsRequest([ana.transactional_id])
        (state,) = scene.stagehand.ask(request, 0).transaction_states
        return bool(state.transaction_state == "CompleteAbort")

    scene.until(aborted, what="the transaction is aborted")
    ana.actor.ask(ana.send(topic, b"1"), _PRODUCE)
    ana.actor.ask(ana.add((topic.name, 0)), _ADD)
    ana.actor.ask(ana.end(commit=True))
    shown(scene, ana, topic)


@script(versions=every("ListTransactions"))
def list_transactions(scene: Scene, version: int) -> None:
    """All; by state, by a state that there is not, by producer, by how long they are open, by a pattern."""
    topic = new_topic(scene)
    producers = [Producer(scene).begin() for _ in range(3)]
    names = {producer.transactional_id for producer in producers}
    producers[1].actor.quietly(producers[1].add((topic.name, 0)), _ADD)
    producers[2].actor.quietly(producers[2].add((topic.name, 0)), _ADD)
    producers[2].ends(commit=True)

    def ours(answer: Any) -> list[Any]:
        answer.transaction_states = sorted(
            (state for state in answer.transaction_states if state.transactional_id in names),
            key=lambda state: state.transactional_id,
        )
        return [answer]

    requests = [
        ListTransactionsRequest(),
        ListTransactionsRequest(["Ongoing"]),
        ListTransactionsRequest(["Empty", "CompleteCommit", "Dead", "PrepareEpochFence"]),
        ListTransactionsRequest(["ongoing", "Nonsense"]),
        ListTransactionsRequest(["Ongoing"], [producers[0].producer_id]),
        ListTransactionsRequest([], [producers[0].producer_id, producers[2].producer_id, PRODUCER_ID_OF_SCRIPTS]),
    ]
    if version >= 1:
        requests += [ListTransactionsRequest(duration_filter=ms) for ms in (-5, 3_600_000)]
    if version >= 2:
        patterns = ["", ".*", "tx-.*", "tx", r"(?i)TX-\d+-\d[13]", r"\pL+-.*", "(", "a**", "[^", "(?=a)"]
        requests += [ListTransactionsRequest(transactional_id_pattern=pattern) for pattern in patterns]
        requests.append(ListTransactionsRequest(["Ongoing", "Nonsense"], [], -1, "("))
    for request in requests:
        producers[0].actor.ask_and_keep(request, ours)


@script()
def describe_transactions(scene: Scene, version: int) -> None:
    """Of no name, of an unknown one, several; one that is open."""
    topic = new_topic(scene, partitions=2)
    ana = Producer(scene).begin()
    ana.actor.quietly(ana.add((topic.name, 0), (topic.name, 1)), _ADD)
    ana.actor.ask(DescribeTransactionsRequest([ana.transactional_id, "", scene.name("unknown")]))
    ana.actor.ask(DescribeTransactionsRequest([]))
