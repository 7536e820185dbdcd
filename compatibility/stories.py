"""What every client plays. A story is told in the words of the clients' programs, so it is the same for all of them.

What a client says of itself is not enough: offsets, members and kinds of groups are looked up at the broker as well, by
raw requests. A story that ends without an exception has proved its sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from compatibility.brokers import NEW_GROUPS, PLAINTEXT, SASL, SSL
from compatibility.stage import Stage
from tests.clients.client_process import ClientProcess, Message, until
from tests.clients.sharing import LONG_MS, each_reads_its_own, share

_RECORDS: Final = 60
_PARTITIONS: Final = 4


@dataclass(frozen=True)
class Story:
    """`proves` is its sentence; `needs`: what a broker has to offer for it, beside a plain listener."""

    name: str
    proves: str
    play: Callable[[Stage], None]
    needs: str = PLAINTEXT


def produce(stage: Stage) -> None:
    topic = stage.topic(_PARTITIONS)
    sent = [
        Message(b"value %d" % number, b"key %d" % number, (("number", b"%d" % number),), partition=number % _PARTITIONS)
        for number in range(_RECORDS)
    ]
    ana = stage.start("ana")
    ana.send(topic, *sent, codec="gzip")
    reader = stage.start("reader")
    reader.assign(*((topic, index) for index in range(_PARTITIONS)))
    reader.until(lambda: len(reader.messages) >= _RECORDS, f"all {_RECORDS} records are read")
    for index in range(_PARTITIONS):
        expected = [(each.value, each.key, each.headers) for each in sent if each.partition == index]
        read = [(each.value, each.key, each.headers) for each in reader.messages if each.partition == index]
        assert read == expected, f"partition {index} was read as {read[:3]}…"


def group(stage: Stage) -> None:
    topic, group_id = stage.topic(), stage.name("group")
    ana, bo = stage.start("ana"), stage.start("bo")
    ana.send(topic, *(b"%d" % number for number in range(10)))
    ana.subscribe(group=group_id, topics=[topic])
    ana.until(lambda: len(ana.messages) >= 10, "the first member reads what is there")
    ana.commit()
    ana.close()
    committed = stage.committed(group_id, topic)
    assert committed == 10, f"10 were read and committed, but the broker holds {committed}"
    ana.send(topic, *(b"%d" % number for number in range(10, 20)))
    bo.subscribe(group=group_id, topics=[topic])
    bo.until(lambda: len(bo.messages) >= 10, "the second member goes on")
    assert bo.values == [b"%d" % number for number in range(10, 20)], f"the second member read {bo.values}"


def rebalance(stage: Stage) -> None:
    topic, group_id = stage.topic(_PARTITIONS), stage.name("group")
    writer, ana, bo = stage.start("writer"), stage.start("ana"), stage.start("bo")
    ana.subscribe(group=group_id, topics=[topic], session_timeout_ms=LONG_MS)
    share(topic, _PARTITIONS, [ana])
    bo.subscribe(group=group_id, topics=[topic], session_timeout_ms=LONG_MS)
    share(topic, _PARTITIONS, [ana, bo])
    each_reads_its_own(topic, _PARTITIONS, writer, [ana, bo])
    ana.commit()
    bo.commit()
    bo.close()
    share(topic, _PARTITIONS, [ana])
    each_reads_its_own(topic, _PARTITIONS, writer, [ana])


def static(stage: Stage) -> None:
    topic, group_id = stage.topic(_PARTITIONS), stage.name("group")
    ana, bo, again = stage.start("ana"), stage.start("bo"), stage.start("bo")
    ana.subscribe(group=group_id, topics=[topic], instance="ana", session_timeout_ms=LONG_MS)
    share(topic, _PARTITIONS, [ana])
    bo.subscribe(group=group_id, topics=[topic], instance="bo", session_timeout_ms=LONG_MS)
    share(topic, _PARTITIONS, [ana, bo])
    held, told, before = bo.holds, len(ana.rebalances), stage.member_ids(group_id)
    bo.kill()
    again.subscribe(group=group_id, topics=[topic], instance="bo", session_timeout_ms=LONG_MS)
    again.until(lambda: again.holds == held, "the member that came back holds what it held")
    after = stage.member_ids(group_id)
    assert len(ana.rebalances) == told, "the other member was told of a rebalance"
    assert after["ana"] == before["ana"], "the other member is another one now"
    assert after["bo"] != before["bo"], "the member that came back was not let in anew"


def transactions(stage: Stage) -> None:
    source, target, group_id = stage.topic(), stage.topic(), stage.name("group")
    ana, reader = stage.start("ana"), stage.start("reader")
    ana.send(source, *(b"%d" % number for number in range(8)))
    ana.begin_transactional(transactional_id=stage.name("id"), group=group_id, source=source)
    _transaction(ana, target, "1", "2", group=group_id, source=source, offset=5, commit=True)
    _transaction(ana, target, "never", group=group_id, source=source, offset=7, commit=False)
    _transaction(ana, target, "3", group=group_id, source=source, offset=6, commit=True)
    reader.assign((target, 0), isolation="read_committed")
    reader.until(lambda: len(reader.messages) >= 3, "what was committed is read")
    assert reader.values == [b"1", b"2", b"3"], f"read {reader.values}"
    assert stage.end_offset(target) == 7, "four records and three markers are not all that is there"
    committed = stage.committed(group_id, source)
    assert committed == 6, f"6 was committed with the records, but the broker holds {committed}"


def _transaction(ana: ClientProcess, target: str, *values: str, commit: bool, **offsets: Any) -> None:
    ana.begin_transaction()
    ana.write(topic=target, values=list(values))
    ana.send_offsets(group=offsets["group"], offsets=[[offsets["source"], 0, offsets["offset"]]])
    ana.end_transaction(commit=commit)


def new_groups(stage: Stage) -> None:
    topic, group_id = stage.topic(_PARTITIONS), stage.name("group")
    writer, ana, bo = stage.start("writer"), stage.start("ana"), stage.start("bo")
    ana.subscribe(group=group_id, topics=[topic], protocol="consumer")
    share(topic, _PARTITIONS, [ana])
    bo.subscribe(group=group_id, topics=[topic], protocol="consumer")
    share(topic, _PARTITIONS, [ana, bo])
    kind = stage.kind_of_group(group_id)
    assert kind == "consumer", f"the group's kind is {kind}"
    each_reads_its_own(topic, _PARTITIONS, writer, [ana, bo])
    bo.close()
    until(lambda: len(ana.holds) == _PARTITIONS, "the member that stays has all partitions", ana)


STORIES: Final = (
    Story(
        "produce",
        "60 records with keys and headers, packed with gzip, are read back from four partitions, each in its order.",
        produce,
    ),
    Story(
        "group",
        "A member reads and commits. After it has left, another one goes on where it was.",
        group,
    ),
    Story(
        "rebalance",
        "A second member comes and both have half of the partitions; it leaves, and the first one has them all.",
        rebalance,
    ),
    Story(
        "static",
        "A member with an instance id is killed and comes back. It has what it had, and nobody else hears of it.",
        static,
    ),
    Story(
        "transactions",
        "Two transactions are committed and one between them is aborted. Readers see the records of the two, "
        "and the group's offset is theirs.",
        transactions,
    ),
    Story(
        "new groups",
        "Two members share a topic in a group of the new protocol (KIP-848), one leaves, and the other has it all.",
        new_groups,
        needs=NEW_GROUPS,
    ),
    Story("TLS", "The first story, over TLS; the client checks the broker's certificate.", produce, needs=SSL),
    Story("SASL", "The first story, after a login with SASL PLAIN.", produce, needs=SASL),
)
