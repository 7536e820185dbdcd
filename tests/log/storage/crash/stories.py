"""What a broker does until its machine loses power, told at random: the steps, their order, the size of records.

A story is a function of a site and of the source of its choices. It may kill the process, or stop it, and go on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Final, TypeAlias

from tests.log.storage.crash.site import Site
from tests.support.batches import KeyValue

Story: TypeAlias = Callable[[Site, Random], None]

_STEPS: Final = 14


def produce(site: Site, random: Random) -> None:
    """Two topics, of which one is flushed with each batch."""
    site.create("plain")
    site.create("flushed", flush_messages="1")
    for _ in range(_STEPS):
        _one_of(
            random,
            {
                lambda: site.send("plain", _records(random)): 5,
                lambda: site.send("flushed", _records(random)): 4,
                lambda: site.flush("plain"): 1,
                site.checkpoint: 1,
                lambda: _restart(site, random): 1,
            },
        )


def roll(site: Site, random: Random) -> None:
    """Segments are begun, by size and otherwise."""
    site.create("t")
    for _ in range(2 * _STEPS):
        _one_of(
            random,
            {
                lambda: site.send("t", _records(random, 900)): 8,
                lambda: site.roll("t"): 3,
                lambda: site.flush("t"): 1,
                site.checkpoint: 2,
                lambda: _restart(site, random): 3,
            },
        )


def compaction(site: Site, random: Random) -> None:
    """Segments take the place of others, again and again."""
    site.create("t", cleanup_policy="compact", min_cleanable_dirty_ratio="0.01")
    for number in range(2 * _STEPS):
        _compaction_step(site, random, number)


def _compaction_step(site: Site, random: Random, number: int) -> None:
    _one_of(
        random,
        {
            lambda: site.send("t", _keyed(random, number)): 8,
            lambda: site.roll("t"): 3,
            lambda: site.clean("t"): 4,
            lambda: site.flush("t"): 1,
            site.checkpoint: 1,
            lambda: _restart(site, random): 1,
        },
    )


def transactions(site: Site, random: Random) -> None:
    """Some are aborted; segments end within them."""
    site.create("t")
    sequences = dict.fromkeys(range(3), 0)
    are_open: set[int] = set()

    def send() -> None:
        producer_id = random.choice(list(sequences))
        records = _records(random, 300)
        site.send("t", records, producer_id=producer_id, sequence=sequences[producer_id])
        sequences[producer_id] += len(records)
        are_open.add(producer_id)

    def end() -> None:
        if are_open:
            producer_id = random.choice(sorted(are_open))
            are_open.remove(producer_id)
            site.end_transaction("t", producer_id, commit=random.random() < 0.2)

    for _ in range(2 * _STEPS):
        steps: dict[Callable[[], None], int] = {
            send: 8,
            end: 8,
            lambda: site.roll("t"): 3,
            lambda: site.flush("t"): 1,
            site.checkpoint: 1,
            lambda: _restart(site, random): 1,
        }
        _one_of(random, steps)


def topics_made_anew(site: Site, random: Random) -> None:
    """A topic is deleted and made again, under the same name."""
    site.create("t", 2, flush_messages="1")
    for number in range(_STEPS):
        _topics_made_anew_step(site, random, number)


def _topics_made_anew_step(site: Site, random: Random, number: int) -> None:

    def make_anew() -> None:
        site.delete("t")
        if random.random() < 0.3:
            _restart(site, random)
        site.create("t", random.choice((1, 2)), flush_messages=random.choice(("1", "1000")))

    _one_of(
        random,
        {
            lambda: site.send("t", _records(random)): 6,
            make_anew: 3,
            lambda: site.create(f"other-{number}", flush_messages="1"): 1,
            site.checkpoint: 1,
            lambda: _restart(site, random): 1,
        },
    )


def deleted_records(site: Site, random: Random) -> None:
    """Logs lose their beginning, by DeleteRecords and by retention."""
    site.create("t", flush_messages=random.choice(("1", "1000")))
    for _ in range(_STEPS):
        _deleted_records_step(site, random)


def _deleted_records_step(site: Site, random: Random) -> None:
    end_offset = site.topic("t").partitions[0].log_end_offset
    _one_of(
        random,
        {
            lambda: site.send("t", _records(random, 900)): 8,
            lambda: site.delete_records("t", random.randint(0, end_offset)): 3,
            lambda: site.expire("t"): 1,
            site.checkpoint: 1,
            lambda: _restart(site, random): 1,
        },
    )


def metadata(site: Site, random: Random) -> None:
    """Configs change, topics grow, and a few records come in between."""
    site.create("a")
    site.create("b", 3)
    for number in range(_STEPS):
        _metadata_step(site, random, number)


def _metadata_step(site: Site, random: Random, number: int) -> None:
    name = random.choice("ab")
    _one_of(
        random,
        {
            lambda: site.configure(name, retention_ms=str(10**12 + number)): 4,
            lambda: site.configure(name, flush_messages=random.choice(("1", "1000"))): 2,
            lambda: site.add_partitions(name, random.randint(1, 3)): 2,
            lambda: site.send(name, _records(random), random.randrange(len(site.topic(name).partitions))): 4,
            lambda: _restart(site, random): 1,
        },
    )


STORIES: Final[tuple[Story, ...]] = (
    produce,
    roll,
    compaction,
    transactions,
    topics_made_anew,
    deleted_records,
    metadata,
)


def goes_on(site: Site, random: Random) -> None:
    """On what was found a broker does a little more with everything."""
    for name, topic in list(site.cluster.topics.items()):
        for index in range(len(topic.partitions)):
            site.send(name, _records(random, 600), index)
            random.choice((site.flush, site.roll, site.clean))(name, index)
            site.send(name, _records(random, 600), index)
    site.checkpoint()


def _one_of(random: Random, steps: Mapping[Callable[[], None], int]) -> None:
    """Do one of the steps; the numbers say how likely each is."""
    (step,) = random.choices(list(steps), list(steps.values()))
    step()


def _restart(site: Site, random: Random) -> None:
    random.choice((site.kill, site.stop))()
    site.start()


def _records(random: Random, size: int = 200) -> list[KeyValue]:
    return [
        (b"%d" % random.randrange(10), random.randbytes(random.randint(0, size))) for _ in range(random.randint(1, 3))
    ]


def _keyed(random: Random, number: int) -> list[KeyValue]:
    return [
        (b"%d" % random.randrange(4), b"%d" % number + bytes(random.randint(0, 600)))
        for _ in range(random.randint(1, 3))
    ]
