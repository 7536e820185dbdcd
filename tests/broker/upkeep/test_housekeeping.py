"""Logs are looked after as time passes: by alarms on the broker's timer, which the virtual clock drives."""

from __future__ import annotations

from tests.broker.log_scene import LogScene
from tests.broker.scene import WALL_MS, keep_house
from tests.log.partitions import HOUR_MS, batch_of

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS


def test_nothing_is_armed_before_there_is_a_topic() -> None:
    """A broker that nobody uses is not woken."""
    scene = LogScene()
    keep_house(scene)
    assert scene.timer.size == 0
    scene.create("orders")
    scene.create("payments")
    assert scene.timer.size == 3


def test_old_records_go_with_the_next_round() -> None:
    """Retention is looked at half a minute after the first topic, then every five minutes; at no other time."""
    scene = LogScene()
    keep_house(scene)
    orders = scene.create("orders", retention_ms=str(HOUR_MS))
    scene.append(orders, batch_of(3, base_timestamp=WALL_MS))
    scene.advance(HOUR_MS + 20 * SECOND_MS)  # rounds at 30 s, 5 min 30 s … 60 min 30 s
    assert orders.partitions[0].log_start_offset == 0
    scene.advance(10 * SECOND_MS)
    assert orders.partitions[0].log_start_offset == 3


def test_the_interval_is_a_setting() -> None:
    """log.retention.check.interval.ms, so that nobody has to wait for five minutes."""
    scene = LogScene(settings={"log.retention.check.interval.ms": "1000", "log.initial.task.delay.ms": "0"})
    keep_house(scene)
    orders = scene.create("orders", retention_ms="5000")
    scene.append(orders, batch_of(3, base_timestamp=WALL_MS))
    scene.advance(5_000)
    assert orders.partitions[0].log_start_offset == 0
    scene.advance(1_000)
    assert orders.partitions[0].log_start_offset == 3


def test_idle_producers_are_forgotten() -> None:
    """A day after its last batch, and with the next round of ten minutes, a producer may start with any sequence."""
    scene = LogScene()
    keep_house(scene)
    orders = scene.create("orders")
    scene.append(orders, batch_of(1, base_timestamp=WALL_MS, producer_id=7, producer_epoch=0, base_sequence=0))
    assert [entry.producer_id for entry in orders.partitions[0].producers] == [7]
    scene.advance(24 * HOUR_MS - MINUTE_MS)
    assert [entry.producer_id for entry in orders.partitions[0].producers] == [7]
    scene.advance(10 * MINUTE_MS)
    assert list(orders.partitions[0].producers) == []


def test_a_deleted_topic_is_left_alone() -> None:
    """The round goes on without it."""
    scene = LogScene()
    keep_house(scene)
    scene.create("orders")
    scene.cluster.delete_topic(scene.cluster.topics["orders"])
    scene.advance(HOUR_MS)
    assert scene.timer.size == 3
