"""Transactions as clients have them: all or nothing for readers, offsets with the records, one producer at a time."""

from __future__ import annotations

import pytest

from tests.clients.client_process import ClientProcess, RefusedError
from tests.clients.conftest import MakeTopic, Start, unique_name
from tests.clients.libraries import Library, name_of, who_can

WHO_CAN = who_can("begin_transactional")

by_library = pytest.mark.parametrize("library", WHO_CAN, ids=name_of)


def run_transaction(client: ClientProcess, topic: str, *values: str, commit: bool) -> None:
    client.begin_transaction()
    client.write(topic=topic, values=list(values))
    client.end_transaction(commit=commit)


@pytest.mark.parametrize("reader", WHO_CAN, ids=name_of)
@by_library
def test_readers_of_committed_records_see_all_or_nothing(
    library: Library, reader: Library, start: Start, make_topic: MakeTopic
) -> None:
    """Two that are committed, one that is aborted between; who reads everything sees that too."""
    topic = make_topic()
    ana, bo, cy = start(library, "ana"), start(reader, "bo"), start(reader, "cy")
    ana.begin_transactional(transactional_id=unique_name("tx"))
    run_transaction(ana, topic, "1", "2", commit=True)
    run_transaction(ana, topic, "never", commit=False)
    run_transaction(ana, topic, "3", commit=True)
    bo.assign((topic, 0), isolation="read_committed")
    bo.until(lambda: len(bo.values) >= 3, "committed records are read")
    assert bo.values == [b"1", b"2", b"3"]
    cy.assign((topic, 0), isolation="read_uncommitted")
    cy.until(lambda: len(cy.values) >= 4, "all records are read")
    assert cy.values == [b"1", b"2", b"never", b"3"]


@by_library
def test_an_open_transaction_is_not_read(library: Library, start: Start, make_topic: MakeTopic) -> None:
    """Its records come when it is committed, and not before."""
    topic = make_topic()
    ana, bo = start(library, "ana"), start(library, "bo")
    ana.begin_transactional(transactional_id=unique_name("tx"))
    run_transaction(ana, topic, "1", commit=True)
    bo.assign((topic, 0), isolation="read_committed")
    ana.begin_transaction()
    ana.write(topic=topic, values=["2"])
    bo.until(lambda: bool(bo.values), "what is committed is read")
    assert bo.values == [b"1"]
    ana.end_transaction(commit=True)
    bo.until(lambda: len(bo.values) > 1, "the rest is committed")
    assert bo.values == [b"1", b"2"]


@by_library
def test_offsets_are_committed_with_the_records(
    library: Library, start: Start, make_topic: MakeTopic, group: str
) -> None:
    """Those of the transaction that is aborted never count."""
    source, target = make_topic(), make_topic()
    ana, bo = start(library, "ana"), start(library, "bo")
    ana.begin_transactional(transactional_id=unique_name("tx"))
    for offset, commit in ((5, True), (7, False)):
        ana.begin_transaction()
        ana.write(topic=target, values=[str(offset)])
        ana.send_offsets(group=group, offsets=[[source, 0, offset]])
        ana.end_transaction(commit=commit)
    bo.assign((source, 0), group=group)
    assert bo.committed(topic=source, partition=0)[0] == 5
    assert bo.end_offset(topic=target, partition=0) == 4  # two records, two markers


@pytest.mark.parametrize("successor", WHO_CAN, ids=name_of)
@by_library
def test_who_begins_under_the_same_id_fences_who_was_there(
    library: Library, successor: Library, start: Start, make_topic: MakeTopic
) -> None:
    """Its open transaction is aborted, and it can't commit any more."""
    topic, transactional_id = make_topic(), unique_name("tx")
    ana, bo, cy = start(library, "ana"), start(successor, "bo"), start(library, "cy")
    ana.begin_transactional(transactional_id=transactional_id)
    ana.begin_transaction()
    ana.write(topic=topic, values=["lost"])
    bo.begin_transactional(transactional_id=transactional_id)
    run_transaction(bo, topic, "kept", commit=True)
    with pytest.raises(RefusedError):
        ana.end_transaction(commit=True)
    cy.assign((topic, 0), isolation="read_committed")
    cy.until(lambda: bool(cy.values), "what is committed is read")
    assert cy.values == [b"kept"]


@by_library
def test_who_is_killed_is_succeeded(library: Library, start: Start, make_topic: MakeTopic, group: str) -> None:
    """Consume, transform, produce: whoever takes over finds what was committed, and nothing twice."""
    source, target, transactional_id = make_topic(), make_topic(), unique_name("tx")
    reader = start(library, "reader")
    for turn in range(4):
        worker = start(library, f"worker-{turn}")
        worker.begin_transactional(transactional_id=transactional_id)
        reader.assign((source, 0), group=group)
        committed = reader.committed(topic=source, partition=0)
        reader.close()
        offset = 0 if committed is None else committed[0]
        assert offset == turn // 2
        worker.begin_transaction()
        worker.write(topic=target, values=[str(offset)])
        worker.send_offsets(group=group, offsets=[[source, 0, offset + 1]])
        if turn % 2:
            worker.end_transaction(commit=True)
        worker.kill()
    reader.forget()
    reader.assign((target, 0), isolation="read_committed")
    reader.until(lambda: len(reader.values) >= 2, "all that was committed is read")
    assert reader.values == [b"0", b"1"]
