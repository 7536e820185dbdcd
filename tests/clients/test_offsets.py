"""Where consumers read: from where they left off, where they are sent, or where the log lets them."""

from __future__ import annotations

import pytest

from ottla.protocol.errors import ErrorCode
from tests.clients.client_process import AN_HOUR_AGO_MS, ClientProcess, Message, refused
from tests.clients.conftest import MakeTopic, SharedClients, shared
from tests.clients.libraries import LIBRARIES, name_of, who_can
from tests.support.backstage import Backstage

TEN = [b"%d" % number for number in range(10)]


@pytest.fixture
def ten(client: ClientProcess, make_topic: MakeTopic) -> str:
    """A topic whose one partition holds the messages 0 to 9, in batches of less than that."""
    topic = make_topic()
    client.send(topic, *TEN[:4])
    client.send(topic, *TEN[4:])
    return topic


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_consumer_resumes_where_its_group_left_off(client: ClientProcess, ten: str, group: str) -> None:
    """Four of ten messages are committed; whoever comes next in the group begins with the fifth."""
    client.subscribe(group=group, topics=[ten])
    client.until(lambda: client.values == TEN, "all are read")
    client.commit(offsets=[[ten, 0, 4, ""]])
    client.close()
    client.forget()
    client.subscribe(group=group, topics=[ten])
    client.until(lambda: len(client.messages) >= 6, "the rest is read")
    assert client.values == TEN[4:]


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_consumer_commits_what_it_has_read(client: ClientProcess, ten: str, group: str) -> None:
    """A commit that names no offsets is of the position after the last message."""
    client.subscribe(group=group, topics=[ten])
    client.until(lambda: client.values == TEN, "all are read")
    client.commit()
    assert client.committed(topic=ten, partition=0)[0] == 10


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_consumer_commits_by_itself_when_it_closes(client: ClientProcess, ten: str, group: str) -> None:
    """With automatic commits the last one is on close, long before the next would be due."""
    client.subscribe(group=group, topics=[ten], auto_commit=True)
    client.until(lambda: client.values == TEN, "all are read")
    client.close()
    client.assign((ten, 0), group=group)
    assert client.committed(topic=ten, partition=0)[0] == 10


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_nothing_is_committed_in_a_new_group(client: ClientProcess, ten: str, group: str) -> None:
    client.assign((ten, 0), group=group)
    assert client.committed(topic=ten, partition=0) is None


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_text_beside_a_commit(client: ClientProcess, ten: str, group: str) -> None:
    """The metadata of a commit comes back to whoever asks for the group's offsets, of a group without members too."""
    client.assign((ten, 0), group=group)
    client.commit(offsets=[[ten, 0, 3, "café, page 7"]])
    assert client.group_offsets(group=group) == [[ten, 0, 3, "café, page 7"]]


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_text_beside_a_commit_can_be_too_long(client: ClientProcess, ten: str, group: str) -> None:
    """offset.metadata.max.bytes: a commit with more is refused, the one before it stays."""
    client.assign((ten, 0), group=group)
    client.commit(offsets=[[ten, 0, 3, "x" * 4_000]])
    with refused(ErrorCode.OFFSET_METADATA_TOO_LARGE):
        client.commit(offsets=[[ten, 0, 4, "x" * 4_200]])
    assert client.committed(topic=ten, partition=0)[0] == 3


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_seek(client: ClientProcess, ten: str) -> None:
    """Who assigned a partition to itself goes where it is sent, into the middle of a batch too, and back."""
    client.assign((ten, 0))
    client.until(lambda: client.values == TEN, "all are read")
    for offset in (6, 0, 9):
        client.seek(topic=ten, partition=0, offset=offset)
        client.until(lambda: len(client.fresh) >= 10 - offset, f"all from {offset} on are read")  # noqa: B023
        assert client.fresh == TEN[offset:]
    assert client.position(topic=ten, partition=0) == 10


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_out_of_range_goes_back_to_the_earliest(client: ClientProcess, ten: str) -> None:
    """auto.offset.reset=earliest: whoever asks for offset 100 of 10 begins anew."""
    client.assign((ten, 0), reset="earliest")
    client.until(lambda: client.values == TEN, "all are read")
    client.seek(topic=ten, partition=0, offset=100)
    client.until(lambda: len(client.fresh) >= 10, "all are read again")
    assert client.fresh == TEN


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_out_of_range_goes_on_to_the_latest(client: ClientProcess, ten: str) -> None:
    """auto.offset.reset=latest: whoever asks for offset 100 of 10 gets what is produced from then on."""
    client.assign((ten, 0), offset=100, reset="latest")

    def later_message_arrives() -> bool:
        client.send(ten, b"later")
        return bool(client.messages)

    client.until(later_message_arrives, "a message that is produced later is read")
    assert set(client.values) == {b"later"}


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_out_of_range_is_an_error_without_a_reset(client: ClientProcess, ten: str) -> None:
    """auto.offset.reset=none: the consumer is told."""
    client.assign((ten, 0), offset=100, reset="none")
    client.until(lambda: bool(client.failures), "the consumer fails")
    assert client.failures[0].code in (ErrorCode.OFFSET_OUT_OF_RANGE, None)
    assert client.messages == []


@pytest.mark.parametrize("library", who_can("delete_records"), ids=name_of)
def test_reader_of_deleted_records_goes_on_behind_them(client: ClientProcess, ten: str) -> None:
    """Records before offset 7 are deleted; a consumer sent to 2 finds itself out of range, and resets to 7."""
    assert client.delete_records(topic=ten, partition=0, before=7) == 7
    client.assign((ten, 0), offset=2)
    client.until(lambda: len(client.messages) >= 3, "the rest is read")
    assert client.values == TEN[7:]
    assert client.beginning_offset(topic=ten, partition=0) == 7


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_where_a_partition_begins_and_ends(client: ClientProcess, ten: str) -> None:
    client.assign((ten, 0))
    assert client.beginning_offset(topic=ten, partition=0) == 0
    assert client.end_offset(topic=ten, partition=0) == 10


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_offset_for_a_time(client: ClientProcess, make_topic: MakeTopic) -> None:
    """The first message at that time or later; none if all are earlier. Order in time and in the log may differ."""
    topic = make_topic()
    for delta_ms in (10, 30, 20, 50):
        client.send(topic, Message(b"%d" % delta_ms, timestamp_ms=AN_HOUR_AGO_MS + delta_ms))
    client.assign((topic, 0))
    found = [
        client.offset_for_time(topic=topic, partition=0, timestamp_ms=AN_HOUR_AGO_MS + delta_ms)
        for delta_ms in (0, 10, 11, 25, 31, 50, 51)
    ]
    assert found == [0, 0, 1, 1, 3, 3, None]


def test_one_library_after_the_other_reads_on(
    backstage: Backstage, bootstrap: str, shared_clients: SharedClients, make_topic: MakeTopic, group: str
) -> None:
    """Offsets belong to the group, not to the client: each library goes on where the one before it has committed."""
    topic = make_topic()
    relay = [shared(library, bootstrap, shared_clients) for library in LIBRARIES if not library.missing()]
    relay[0].send(topic, *TEN)
    for number, client in enumerate(relay):
        client.subscribe(group=group, topics=[topic])
        client.until(lambda: client.values == TEN[number * 2 :], f"all from {number * 2} on are read")  # noqa: B023
        client.commit(offsets=[[topic, 0, number * 2 + 2, client.client_id]])
        client.close()
        client.forget()
    assert relay[0].group_offsets(group=group) == [[topic, 0, len(relay) * 2, relay[-1].client_id]]
