"""Putting a broker back, and going on from what it was, while real clients are connected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest
from ottla.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from ottla.testing import Broker, ChangeRefused, NoSuchTopic, SnapshotRefused
from tests.support.client import Client
from tests.testing.consuming import consuming

#: The type of a resource whose configs are a broker's, or with an empty name the cluster's.
_BROKER = 4


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def change_setting(kafka: Broker, name: str, value: str) -> None:
    """As an administrator would, for the whole cluster."""
    config = IncrementalAlterConfigsRequest.AlterableConfig(name, 0, value)
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(_BROKER, "", [config])
    with Client(kafka.bootstrap_servers) as client:
        (answer,) = client.ask(IncrementalAlterConfigsRequest([resource]), 1).responses
    assert answer.error_code == 0, answer


def commit(kafka: Broker, group_id: str, topic: str, offset: int) -> None:
    """Commit without being a member."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": group_id})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def test_reset_leaves_nothing_of_topics_groups_and_settings(kafka: Broker) -> None:
    kafka.topic("orders").produce("soup")
    commit(kafka, "kitchen", "orders", 1)
    change_setting(kafka, "message.max.bytes", "100")
    kafka.reset()
    assert kafka.topic("orders").records() == []
    assert kafka.group("kitchen").state == "Dead"
    assert not kafka.timeline
    with pytest.raises(NoSuchTopic, match="the topics are: none"):
        kafka.topic("orders").look()
    kafka.topic("orders").produce("x" * 200)


def test_reset_has_stopped_nodes_up_again() -> None:
    with Broker(nodes=2) as kafka:
        kafka.node(2).stop()
        kafka.reset()
        assert kafka.node(2).state == "up"


def test_reset_removes_faults(kafka: Broker) -> None:
    """The next test is not to meet what this one was about; and the timeline begins anew behind them."""
    kafka.fault("Metadata", may_not_fire=True).drop_request().until_removed()
    kafka.reset()
    assert len(kafka.faults) == 0
    assert not kafka.timeline


def test_clients_survive_a_reset(kafka: Broker) -> None:
    """A producer that numbers its batches goes on, and a consumer joins again, by a new id."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "enable.idempotence": True})
    producer.produce("orders", b"before")
    producer.flush()
    with consuming(
        kafka.bootstrap_servers,
        "kitchen",
        "orders",
        settings={"heartbeat.interval.ms": 100, "topic.metadata.refresh.interval.ms": 100},
        on_message=lambda consumer, message: consumer.commit(message=message, asynchronous=False),
    ):
        before = kafka.group("kitchen").wait_for_commit("orders", 0, at_least=1)
        kafka.reset()
        producer.produce("orders", b"after")
        assert producer.flush(20) == 0
        after = kafka.group("kitchen").wait_for_commit("orders", 0, at_least=1)
        assert (after.generation_id, len(after.members)) == (1, 1)
        assert after.leader != before.leader
        assert [record.text for record in kafka.topic("orders").records()] == ["after"]


def test_reset_of_a_virtual_clock_gives_it_the_date_of_the_machine() -> None:
    """Its deadlines never go back, but records are dated anew."""
    with Broker(clock="virtual") as kafka:
        kafka.topic("orders").create()
        kafka.advance(3_600_000)
        (late,) = kafka.topic("orders").produce("late")
        kafka.reset()
        (now,) = kafka.topic("orders").produce("now")
        assert now.timestamp_ms < late.timestamp_ms - 3_000_000


def test_reset_broker_on_disk_is_empty_after_a_restart(tmp_path: Path) -> None:
    """What was reset does not come back."""
    with Broker(data_dir=tmp_path) as kafka:
        kafka.topic("orders").produce("soup")
        kafka.reset()
        kafka.topic("bills").produce("1")
    with Broker(data_dir=tmp_path) as kafka:
        assert kafka.topic("orders").records() == []
        assert [record.text for record in kafka.topic("bills").records()] == ["1"]


def test_restore_brings_back_records_offsets_and_members(kafka: Broker) -> None:
    """As often as one likes; the member goes on in its generation, by the id that it had."""
    kafka.topic("orders").produce("soup", "bread")
    with consuming(
        kafka.bootstrap_servers,
        "kitchen",
        "orders",
        settings={"heartbeat.interval.ms": 100},
        on_message=lambda consumer, message: consumer.commit(message=message, asynchronous=False),
    ):
        before = kafka.group("kitchen").wait_for_commit("orders", 0, at_least=2)
        taken = kafka.snapshot()
        for _ in range(2):
            kafka.topic("orders").produce("tea")
            kafka.group("kitchen").wait_for_commit("orders", 0, at_least=3)
            kafka.topic("more").create()
            kafka.restore(taken)
            assert [record.text for record in kafka.topic("orders").records()] == ["soup", "bread"]
            after = kafka.group("kitchen").look()
            assert after.committed == {("orders", 0): 2}
            assert (after.generation_id, after.leader, after.state) == (1, before.leader, "Stable")
            assert kafka.topic("more").records() == []
        kafka.topic("orders").produce("cake")
        kafka.group("kitchen").wait_for_commit("orders", 0, at_least=3)


def test_restored_log_is_led_under_a_higher_epoch(kafka: Broker) -> None:
    """So that clients look whether what they have read is still there."""
    topic = kafka.topic("orders").create()
    taken = kafka.snapshot()
    epochs = [topic.partitions[0].leader_epoch]
    for _ in range(2):
        kafka.restore(taken)
        epochs.append(topic.partitions[0].leader_epoch)
    assert epochs == [0, 1, 2]


@pytest.mark.parametrize("gone", ["deleted", "reset"])
def test_log_that_is_restored_after_its_topic_had_gone_is_led_under_a_higher_epoch(kafka: Broker, gone: str) -> None:
    """Or a client that has read the log in between would read on in another one, and miss what it says."""
    topic = kafka.topic("orders").create()
    taken = kafka.snapshot()
    kafka.restore(taken)
    before = topic.partitions[0].leader_epoch
    if gone == "reset":
        kafka.reset()
    else:
        topic.delete()
    kafka.restore(taken)
    assert topic.partitions[0].leader_epoch > before


def test_restore_brings_back_settings(kafka: Broker) -> None:
    """Those of the cluster that were changed, then and since."""
    change_setting(kafka, "message.max.bytes", "200")
    taken = kafka.snapshot()
    change_setting(kafka, "message.max.bytes", "10000")
    kafka.restore(taken)
    with pytest.raises(ChangeRefused, match="MESSAGE_TOO_LARGE"):
        kafka.topic("orders").produce("x" * 300)
    kafka.topic("orders").produce("x")


def test_fork_goes_on_by_itself(kafka: Broker) -> None:
    """Two brokers from one; neither sees what the other does."""
    kafka.topic("orders").produce("soup")
    commit(kafka, "kitchen", "orders", 1)
    with kafka.fork() as other:
        assert other.bootstrap_servers != kafka.bootstrap_servers
        kafka.topic("orders").produce("bread")
        other.topic("orders").produce("tea")
        assert [record.text for record in kafka.topic("orders").records()] == ["soup", "bread"]
        assert [record.text for record in other.topic("orders").records()] == ["soup", "tea"]
        assert other.group("kitchen").committed == {("orders", 0): 1}
        commit(other, "kitchen", "orders", 2)
        assert kafka.group("kitchen").committed == {("orders", 0): 1}


def test_fork_is_what_was_when_it_was_made() -> None:
    """Not when it is started; and it does not need the other one any more."""
    with Broker(nodes=2, settings={"num.partitions": 2}) as kafka:
        kafka.topic("orders").produce("soup", partition=1)
        other = kafka.fork()
        kafka.topic("orders").produce("bread")
    with other:
        assert [record.text for record in other.topic("orders").records()] == ["soup"]
        assert other.bootstrap_servers.count(",") == 1
        assert len(other.topic("more").create().partitions) == 2


def test_producers_of_a_fork_and_of_its_origin_do_not_share_ids(kafka: Broker) -> None:
    """An id that the snapshot knows is handed out to nobody else."""
    first = Producer({"bootstrap.servers": kafka.bootstrap_servers, "enable.idempotence": True})
    first.produce("orders", b"soup")
    first.flush()
    with kafka.fork() as other:
        second = Producer({"bootstrap.servers": other.bootstrap_servers, "enable.idempotence": True})
        second.produce("orders", b"tea")
        assert second.flush(20) == 0
        assert [record.text for record in other.topic("orders").records()] == ["soup", "tea"]


def test_snapshots_are_for_memory(tmp_path: Path) -> None:
    """A log on disk is a file of one process."""
    with Broker(data_dir=tmp_path) as kafka, Broker() as other:
        kafka.topic("orders").create()
        with pytest.raises(SnapshotRefused, match="snapshots are of brokers that keep their logs in memory"):
            kafka.snapshot()
        with pytest.raises(SnapshotRefused, match="can't take on what was in memory"):
            kafka.restore(other.snapshot())


def open_transaction(kafka: Broker, timeout_ms: int = 60_000) -> Producer:
    """A producer that has written a record, and will not end its transaction by itself."""
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "transactional.id": "till",
            "transaction.timeout.ms": timeout_ms,
        }
    )
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("orders", b"soup")
    assert producer.flush(20) == 0
    return producer


def transaction_state(kafka: Broker) -> str:
    with Client(kafka.bootstrap_servers) as client:
        (described,) = client.ask(DescribeTransactionsRequest(["till"]), 0).transaction_states
    assert described.error_code == 0, described
    state: str = described.transaction_state
    return state


def test_restore_opens_a_transaction_that_was_open(kafka: Broker) -> None:
    """Its coordinator has read it when `restore` returns."""
    producer = open_transaction(kafka)
    taken = kafka.snapshot()
    for _ in range(2):
        kafka.restore(taken)
        assert transaction_state(kafka) == "Ongoing"
    producer.abort_transaction(20)
    assert transaction_state(kafka) == "CompleteAbort"


def test_fork_aborts_a_transaction_that_nobody_ends() -> None:
    """In time, though nobody has asked its coordinator for anything."""
    with Broker(clock="virtual") as kafka:
        _producer = open_transaction(kafka)
        with kafka.fork() as other:
            other.advance(75_000)
            assert transaction_state(other) == "CompleteAbort"
            assert transaction_state(kafka) == "Ongoing"


def test_after_a_reset_transactions_time_out_as_before() -> None:
    """Though the date is before that at which the coordinator has begun."""
    with Broker(clock="virtual") as kafka:
        kafka.advance(86_400_000)
        open_transaction(kafka).abort_transaction(20)
        kafka.reset()
        _producer = open_transaction(kafka, timeout_ms=1_000)
        kafka.advance(15_000)
        assert transaction_state(kafka) == "CompleteAbort"
