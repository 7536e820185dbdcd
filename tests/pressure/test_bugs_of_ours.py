"""Something of ours raises, wherever it may be: that one thing ends, the log says why once, and the broker serves on.

Each test breaks a running broker on purpose, with errors of several kinds, and then talks to it over a socket.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from ottla.broker.delayed.fetch import DelayedFetch
from ottla.broker.internal import loading
from ottla.coordinator.classic import step
from ottla.coordinator.offsets.events import SweepDue
from ottla.events.kind import Kind
from ottla.log.compaction import log_cleaner
from ottla.log.job import Job
from ottla.log.logs import Logs
from ottla.log.partition import Partition
from ottla.log.producer_state import ProducerStates
from ottla.log.storage.data_dir import DataDir
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.purgatory import Alarm, SystemClock, Timer, VirtualClock
from tests.log.partitions import batch_of, fill
from tests.pressure.stage import join
from tests.support.backstage import Backstage
from tests.support.batches import batch
from tests.support.client import Client
from tests.support.running_broker import RunningBroker

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 60 * MINUTE_MS

Raises: TypeAlias = Callable[..., Any]


@pytest.fixture(autouse=True)
def every_round_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that would find nothing: what is broken here is the work, not the look whether there is any."""
    monkeypatch.setattr(Timer, "skip_idle", lambda *_: False)


@pytest.fixture(
    params=[struct.error("int too large"), MemoryError()],
    ids=lambda error: type(error).__name__,
)
def raises(request: pytest.FixtureRequest) -> Raises:
    """What our bugs look like."""

    def fails(*_args: object, **_keys: object) -> Any:
        raise request.param

    return fails


@pytest.fixture
def broker() -> Iterator[RunningBroker]:
    """In memory, under a clock that the test moves."""
    with RunningBroker(may_fail=True, clock=VirtualClock()) as running:
        yield running
        assert_serves(running)
        assert not running.loop_errors


@pytest.fixture
def on_disk(tmp_path: Path) -> Iterator[RunningBroker]:
    """With a data directory; stopping it must come to an end."""
    settings = {"log.flush.scheduler.interval.ms": MINUTE_MS}
    with RunningBroker(may_fail=True, clock=VirtualClock(), data_dir=tmp_path, settings=settings) as running:
        yield running
        assert_serves(running)
        assert not running.loop_errors


def assert_serves(broker: RunningBroker) -> None:
    """A topic can be made, written and read."""
    with Backstage(broker.bootstrap) as backstage:
        backstage.create_topic("proof")
        backstage.produce("proof")
        assert backstage.end_offset("proof") == 1


def told(broker: RunningBroker, event: str) -> Any:
    """The one time that it was told, with its traceback."""
    (keys,) = broker.log.named(event)
    assert "Traceback" in keys["traceback"]
    return keys


def make_topics(broker: RunningBroker, *names: str, **configs: str) -> list[Partition]:
    with Backstage(broker.bootstrap) as backstage:
        for name in names:
            backstage.create_topic(name, configs={key.replace("_", "."): value for key, value in configs.items()})
    return [broker.server.cluster.topics[name].partitions[0] for name in names]


def only_at(topic: str, method: Callable[..., Any], fails: Raises) -> Callable[..., Any]:
    """A method of partitions that fails at one of them."""

    def patched(log: Partition, *arguments: Any) -> Any:
        return (fails if log.topic == topic else method)(log, *arguments)

    return patched


# ── Jobs and rounds ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_job(broker: RunningBroker, raises: Raises) -> None:
    """It is over; the one beside it goes on to its end."""
    done: list[int] = []

    def sick() -> Job:
        yield
        raises()

    def sound() -> Job:
        for number in range(3):
            yield
            done.append(number)

    background = broker.server.services.background
    broker.look(lambda: background.start(sick(), "sick"))
    broker.look(lambda: background.start(sound(), "sound"))
    broker.wait_until("both are over", lambda: background.is_settled)
    assert told(broker, "job.failed")["job"] == "sick"
    assert done == [0, 1, 2]


def test_the_care_for_one_log(broker: RunningBroker, raises: Raises, monkeypatch: pytest.MonkeyPatch) -> None:
    """Retention fails at one log, hour after hour: the other one loses its old records. Told once, and at its end."""
    sick, sound = make_topics(broker, "sick", "sound", retention_ms=str(MINUTE_MS))
    broker.look(lambda: fill(sick, batch_of(3, base_timestamp=0)))
    broker.look(lambda: fill(sound, batch_of(3, base_timestamp=0)))
    with monkeypatch.context() as broken:
        broken.setattr(Partition, "apply_retention", only_at("sick", Partition.apply_retention, raises))
        broker.advance(3 * HOUR_MS)
    assert (sick.log_start_offset, sound.log_start_offset) == (0, 3)
    failed = told(broker, "log.care.failed")
    assert (failed["topic"], failed["partition"], failed["work"]) == ("sick", 0, "retention")
    assert not broker.log.named("log.care.recovered")
    broker.advance(HOUR_MS)
    assert sick.log_start_offset == 3
    assert len(broker.log.named("log.care.recovered")) == 1


def test_a_whole_round(broker: RunningBroker, raises: Raises, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes again, and is told once; so is that it went well again."""
    (orders,) = make_topics(broker, "orders", retention_ms=str(MINUTE_MS))
    broker.look(lambda: fill(orders, batch_of(3, base_timestamp=0)))
    with monkeypatch.context() as broken:
        broken.setattr(Logs, "apply_retention", raises)
        broker.advance(3 * HOUR_MS)
    assert told(broker, "round.failed")["work"] == "retention"
    broker.advance(HOUR_MS)
    assert broker.log.named("round.recovered") == [{"work": "retention"}]
    assert orders.log_start_offset == 3


def test_a_failure_for_another_reason_is_told(broker: RunningBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody should think that it is still the old one."""

    def fails(_producers: ProducerStates, _wall_ms: int) -> None:
        raise RuntimeError(reasons[0])

    reasons = ["first"]
    make_topics(broker, "orders")
    monkeypatch.setattr(ProducerStates, "remove_expired", fails)
    broker.advance(3 * HOUR_MS)
    reasons[0] = "second"
    broker.advance(3 * HOUR_MS)
    told_reasons = [failed["reason"] for failed in broker.log.named("log.care.failed")]
    assert told_reasons == ["RuntimeError: first", "RuntimeError: second"]


@pytest.mark.parametrize("what", ["clean", "look_at"])
def test_cleaning_one_log(broker: RunningBroker, raises: Raises, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not cleaned any more, as in Kafka; the others are."""
    sick, sound = make_topics(broker, "sick", "sound", cleanup_policy="compact")
    original = vars(log_cleaner)[what]

    def patched(found: Any, *arguments: Any) -> Any:
        log = found if isinstance(found, Partition) else found.log
        return (raises if log is sick else original)(found, *arguments)

    def dirty(log: Partition) -> None:
        fill(log, batch([(b"a", b"1")]), batch([(b"a", b"2")]))
        log._roll(0)

    broker.look(lambda: dirty(sick))
    broker.look(lambda: dirty(sound))
    monkeypatch.setattr(log_cleaner, what, patched)
    broker.advance(HOUR_MS)
    assert told(broker, "log.cleaning.failed")["topic"] == "sick"
    assert [cleaned["topic"] for cleaned in broker.log.named("log.cleaned")] == ["sound"]


# ── Timers, waiting, nodes ────────────────────────────────────────────────────────────────────────────────────────────


def test_an_alarm(broker: RunningBroker, raises: Raises) -> None:
    """Those of the same millisecond ring, and those after it."""
    timer, rung = broker.server.timer, []

    def arm() -> None:
        for delay_ms, callback in ((5, raises), (5, lambda: rung.append(5)), (6, raises), (7, lambda: rung.append(7))):
            timer.add_in(Alarm(callback), delay_ms)

    broker.look(arm)
    broker.advance(10)
    assert rung == [5, 7]
    assert "fails" in told(broker, "timer.failed")["timer"]


def test_one_who_waits(broker: RunningBroker, raises: Raises, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fetch whose condition can't be tested is answered when its time is over; others when their bytes are there."""
    (orders,) = make_topics(broker, "orders")
    sick: list[DelayedFetch] = []
    test_condition = DelayedFetch.try_complete_for

    def patched(operation: DelayedFetch, key: Hashable) -> bool:
        return bool((raises if operation in sick else test_condition)(operation, key))

    monkeypatch.setattr(DelayedFetch, "try_complete_for", patched)
    fetches = broker.look(lambda: broker.server.services.delayed_operations.fetch)
    wanted = FetchRequest.FetchPartition(0, fetch_offset=0, partition_max_bytes=1000)
    fetch = FetchRequest(max_wait_ms=500, min_bytes=1, topics=[FetchRequest.FetchTopic("orders", partitions=[wanted])])
    with Client(broker.bootstrap) as ana, Client(broker.bootstrap) as bo:
        ana.send(fetch, 12)
        broker.wait_until("Ana waits", lambda: fetches.delayed == 1)
        broker.look(lambda: sick.extend(fetches._watchers._by_key[orders]))
        bo.send(fetch, 12)
        broker.wait_until("Bo waits", lambda: fetches.delayed == 2)
        broker.look(lambda: fill(orders, batch()))
        assert bo.receive().message.responses[0].partitions[0].records
        broker.advance(500)
        assert ana.receive().message.responses[0].partitions[0].error_code == ErrorCode.NONE
    assert told(broker, "timer.failed")["timer"] == "DelayedFetch"


def test_who_hears_of_a_change(raises: Raises) -> None:
    """Of topics and leaders: the others hear of it, and the change is made."""
    with RunningBroker(may_fail=True, clock=VirtualClock(), nodes=2) as broker, Client(broker.bootstrap) as ana:
        cluster = broker.server.cluster
        kinds = [Kind.TOPIC_CREATED, Kind.PARTITION_LEADER_CHANGED, Kind.NODE_DIED]
        broker.look(lambda: cluster.events.read(raises, kinds))
        ana.ask(FindCoordinatorRequest("group", 0), 2)
        broker.run(broker.controlled.nodes.stop(2, hard=True))
        broker.advance(MINUTE_MS)
        assert {placement.leader_id for placement in cluster.topics["__consumer_offsets"].placements} == {1}
        for number in range(8):  # of either node's partitions
            join(ana, f"group {number}")
        assert len(broker.log.named("reader.failed")) > 2
        assert not broker.loop_errors


# ── Groups ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_reading_groups(raises: Raises, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Their partition has no coordinator until the next start, as in Kafka; those of other partitions have."""
    with RunningBroker(data_dir=tmp_path) as broker, Client(broker.bootstrap) as ana:
        member_id = join(ana, "group")
    monkeypatch.setattr(loading, "read_records", raises)
    with RunningBroker(data_dir=tmp_path, may_fail=True) as broker, Client(broker.bootstrap) as ana:
        broker.wait_until("it has failed", lambda: broker.log.named("group_log.load.failed"))
        partition = broker.look(lambda: broker.coordinator.partition_of("group"))
        assert told(broker, "group_log.load.failed")["partition"] == partition
        heartbeat = HeartbeatRequest("group", 1, member_id)
        assert ana.ask(heartbeat, 3).error_code == ErrorCode.NOT_COORDINATOR
        ana.ask(FindCoordinatorRequest("other", 0), 2)
        join(ana, "another")
        assert_serves(broker)


def test_looking_for_what_is_expired(broker: RunningBroker, raises: Raises, monkeypatch: pytest.MonkeyPatch) -> None:
    """At one group. It is read anew and stays; the other one, of which nothing is left to keep, goes."""
    swept: list[str] = []
    sweep = vars(step)["_EVENTS"][SweepDue]

    def patched(group: Any, now_ms: int, event: Any, effects: Any) -> None:
        swept.append(group.group_id)
        (raises if group.group_id == "sick" else sweep)(group, now_ms, event, effects)

    monkeypatch.setitem(vars(step)["_EVENTS"], SweepDue, patched)
    with Client(broker.bootstrap) as ana:
        join(ana, "sick")
        join(ana, "sound")
    broker.advance(11 * MINUTE_MS)
    assert set(swept) == {"sick", "sound"}
    assert told(broker, "group.failed")["group_id"] == "sick"
    assert broker.look(lambda: [group.group_id for group in broker.coordinator.groups]) == ["sick"]


# ── The disk ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_disk_worker(on_disk: RunningBroker, raises: Raises, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that was to be flushed is offline; the thread goes on, for others and for the end."""
    sick, sound = make_topics(on_disk, "sick", "sound")
    on_disk.look(lambda: fill(sick, batch()))
    on_disk.look(lambda: fill(sound, batch()))
    with monkeypatch.context() as broken:
        broken.setattr(sick._storage.disk.operations, "sync_file", raises)  # type: ignore[attr-defined]
        on_disk.look(lambda: sick._roll(0))
        on_disk.wait_until("it is offline", lambda: sick.is_offline)
    on_disk.look(lambda: sound._roll(0))
    on_disk.wait_until("the other is flushed", lambda: sound._storage.flushed_offset == 1)  # type: ignore[attr-defined]
    told(on_disk, "disk.work.failed")


def test_what_follows_the_disk_worker(on_disk: RunningBroker, raises: Raises, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is to be done with its result raises: that of the next work is done."""
    worker = on_disk.server.cluster.store.data_dir.disk.worker  # type: ignore[union-attr]
    results: list[Exception | None] = []
    on_disk.look(lambda: (worker.do(lambda: None, raises), worker.do(lambda: None, results.append)))
    on_disk.wait_until("both are done", lambda: results == [None])
    told(on_disk, "disk.work.failed")


@pytest.mark.parametrize(
    ("where", "method", "event"),
    [(Partition, "flush_if_due", "log.care.failed"), (DataDir, "save_recovery_points_soon", "round.failed")],
)
def test_rounds_on_disk(
    on_disk: RunningBroker,
    raises: Raises,
    where: type,
    method: str,
    event: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Flushing what is due, and noting how far that has got."""
    make_topics(on_disk, "orders", flush_ms="1")
    monkeypatch.setattr(where, method, raises)
    on_disk.advance(HOUR_MS)
    told(on_disk, event)


def test_closing_the_data_directory(raises: Raises, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The broker ends as it should, lets go of the directory, and the next start looks through the logs."""
    with monkeypatch.context() as broken, RunningBroker(may_fail=True, data_dir=tmp_path) as broker:
        assert_serves(broker)
        broken.setattr(Partition, "close", raises)
        broker.stop()
        told(broker, "data_dir.close.failed")
    with RunningBroker(data_dir=tmp_path) as broker, Backstage(broker.bootstrap) as backstage:
        assert backstage.end_offset("proof") == 1


# ── Pauses ────────────────────────────────────────────────────────────────────────────────────────────────────────────

#: Settings of which the least that Kafka takes is no pause at all, and that.
SHORTEST: Final = {
    "connections.max.idle.ms": 0,
    "leader.imbalance.check.interval.seconds": 1,
    "log.cleaner.backoff.ms": 0,
    "log.flush.offset.checkpoint.interval.ms": 0,
    "log.flush.scheduler.interval.ms": -1,
    "log.initial.task.delay.ms": 0,
    "log.retention.check.interval.ms": 1,
    "offsets.retention.check.interval.ms": 1,
    "ottla.failover.ms": 0,
    "producer.id.expiration.check.interval.ms": 1,
}


def test_no_interval_is_so_short_that_nothing_else_is_done(tmp_path: Path) -> None:
    """With all of them at their least a minute of the virtual clock has some thousand deadlines, not millions."""
    with RunningBroker(clock=VirtualClock(), settings=SHORTEST, data_dir=tmp_path) as broker:
        make_topics(broker, "orders", cleanup_policy="compact")
        with Client(broker.bootstrap) as ana:
            ana.ask(FindCoordinatorRequest("group", 0), 2)
        fired = broker.server.timer.fired
        broker.advance(MINUTE_MS)
        assert 1000 < broker.server.timer.fired - fired < 10_000
        assert_serves(broker)


def test_a_broker_with_the_shortest_intervals_sleeps_most_of_the_time() -> None:
    """Of the real clock. Each of its rounds wakes it ten times a second and no more."""
    with RunningBroker(settings=SHORTEST) as broker:
        make_topics(broker, "orders", cleanup_policy="compact")
        clock, timer = SystemClock(), broker.server.timer
        begun_ms, woken = clock.now_ms(), timer.wake_ups
        broker.wait_until("some rounds are over", lambda: timer.wake_ups >= woken + 20)
        rounds_max = len(SHORTEST) * ((clock.now_ms() - begun_ms) // 100 + 1)
        assert timer.wake_ups - woken <= rounds_max + 2 * len(SHORTEST)


def test_the_longest_intervals_never_end(tmp_path: Path) -> None:
    """9223372036854775807 is how people write "never"; no sum of it is too much for anybody."""
    longest = dict.fromkeys(SHORTEST, 2**31 - 1)
    longest |= {
        name: 2**63 - 1
        for name in SHORTEST
        if name not in ("log.flush.offset.checkpoint.interval.ms", "producer.id.expiration.check.interval.ms")
    }
    with RunningBroker(clock=VirtualClock(), settings=longest, data_dir=tmp_path) as broker:
        make_topics(broker, "orders", cleanup_policy="compact")
        with Client(broker.bootstrap) as ana:
            join(ana, "group")
        broker.advance(24 * HOUR_MS)
        assert_serves(broker)
