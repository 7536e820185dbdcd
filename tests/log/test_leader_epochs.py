"""Leader epochs against a log written down offset by offset."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ottla.log.leader_epochs import LeaderEpochs
from ottla.log.storage.contract import EpochStart

#: (how much higher the next epoch is, how many records it writes)
TERMS = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 4)), max_size=8)


def led(terms: list[tuple[int, int]]) -> tuple[LeaderEpochs, list[int], int]:
    """The entries, the epoch that wrote each offset, and the latest epoch."""
    epochs, writers, epoch = LeaderEpochs(), list[int](), -1
    for step, records in terms:
        epoch += step
        assert epochs.assign(epoch, len(writers))
        assert not epochs.assign(epoch, len(writers) + records)
        writers += [epoch] * records
    return epochs, writers, epoch


@given(TERMS)
def test_an_epoch_ends_where_the_next_one_that_wrote_begins(terms: list[tuple[int, int]]) -> None:
    """For any epoch asked: the largest one up to it that wrote, and the offset after its last record."""
    epochs, writers, latest = led(terms)
    assert epochs.latest == latest
    for asked in range(latest + 3):
        found = epochs.end_offset_for(asked, len(writers))
        later = [offset for offset, epoch in enumerate(writers) if epoch > asked]
        earlier = [epoch for epoch in writers if epoch <= asked]
        if asked == latest:
            assert found == (latest, len(writers))
        elif asked > latest:
            assert found == (-1, -1)
        else:
            end_offset = later[0] if later else len(writers)
            assert found == (earlier[-1] if earlier else asked, end_offset)
    assert epochs.end_offset_for(-1, len(writers)) == (-1, -1)


@given(TERMS, st.integers(0, 30))
def test_cutting_the_start_keeps_what_is_left(terms: list[tuple[int, int]], start: int) -> None:
    """Every offset from the new start on is still told its epoch, and none before."""
    epochs, writers, latest = led(terms)
    start = min(start, len(writers))
    epochs.cut_start(start)
    assert [epochs.epoch_at(offset) for offset in range(start, len(writers))] == writers[start:]
    assert epochs.epoch_at(start - 1) == -1 or start == 0
    assert epochs.latest == latest


@given(TERMS, st.integers(1, 30))
def test_cutting_the_end_forgets_who_lost_all_they_wrote(terms: list[tuple[int, int]], end: int) -> None:
    """The offsets that are left keep their epochs; no entry begins at or after the new end."""
    epochs, writers, _ = led(terms)
    end = min(end, len(writers))
    epochs.cut_end(end)
    assert [epochs.epoch_at(offset) for offset in range(end)] == writers[:end]
    assert all(entry.start_offset < end for entry in epochs.entries)


def test_entries_never_contradict_each_other() -> None:
    """An epoch that goes back, as after a log was cut, takes the place of all it contradicts."""
    for epoch, start_offset, left in (
        (3, 5, [(1, 0), (3, 5)]),
        (2, 30, [(1, 0), (2, 30)]),
        (5, 20, [(1, 0), (3, 10), (5, 20)]),
        (5, 21, [(1, 0), (3, 10), (4, 20), (5, 21)]),
    ):
        epochs = LeaderEpochs([EpochStart(1, 0), EpochStart(3, 10), EpochStart(4, 20)])
        assert epochs.assign(epoch, start_offset)
        assert epochs.entries == left
