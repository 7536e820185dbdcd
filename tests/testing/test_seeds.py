"""A broker that has topics, records and offsets from the start."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer

from ottla.cluster.address import MachineRefused
from ottla.control.changes.seeds import SeedError, read_seed
from ottla.testing import Broker, ChangeRefused, NoSuchTopic
from tests.cli.terminal import ottla, serving
from tests.testing.consuming import consuming

LINES = """\
{"topic": "orders", "partitions": 2, "configs": {"retention.ms": -1}}

{"topic": "orders", "partition": 1, "key": "table 4", "value": "soup", "headers": {"from": "ana"}, "timestamp_ms": 7}
{"topic": "orders", "partition": 1, "value": {"dish": "bread"}}
{"topic": "orders", "partition": 1, "key": "table 4", "value": null}
{"topic": "bills", "value_base64": "/w=="}
{"group": "kitchen", "topic": "orders", "partition": 1, "offset": 1}
"""

YAML = """\
- {topic: orders, partitions: 2, configs: {retention.ms: -1}}
- {topic: orders, partition: 1, key: table 4, value: soup, headers: {from: ana}, timestamp_ms: 7}
- {topic: orders, partition: 1, value: {dish: bread}}
- {topic: orders, partition: 1, key: table 4, value: null}
- {topic: bills, value_base64: /w==}
- {group: kitchen, topic: orders, partition: 1, offset: 1}
"""


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "orders.jsonl"
    path.write_text(LINES)
    return path


@pytest.mark.parametrize(("name", "text"), [("orders.jsonl", LINES), ("orders.yaml", YAML)])
def test_seed_is_there_when_the_broker_accepts(tmp_path: Path, name: str, text: str) -> None:
    """The same in both forms, and a consumer of the group goes on from its offset."""
    path = tmp_path / name
    path.write_text(text)
    with Broker(seed=path) as kafka:
        assert kafka.topic("orders").look().configs == {"retention.ms": "-1"}
        first, second, third = kafka.topic("orders").records()
        assert (first.key, first.value, first.headers, first.timestamp_ms) == (
            b"table 4",
            b"soup",
            (("from", b"ana"),),
            7,
        )
        assert (first.partition, second.json(), third.value) == (1, {"dish": "bread"}, None)
        assert [record.value for record in kafka.topic("bills").records()] == [b"\xff"]
        assert kafka.group("kitchen").committed == {("orders", 1): 1}
        consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "kitchen"})
        consumer.subscribe(["orders"])
        message = consumer.poll(20)
        consumer.close()
        assert message is not None
        assert (message.offset(), message.value()) == (1, b'{"dish": "bread"}')


def test_many_records_of_a_partition_are_batched(tmp_path: Path) -> None:
    """They are all there, and in their order."""
    path = tmp_path / "many.jsonl"
    path.write_text("".join(f'{{"topic": "orders", "value": "{number}"}}\n' for number in range(1_001)))
    with Broker(seed=path) as kafka:
        assert [record.text for record in kafka.topic("orders").records()] == [str(n) for n in range(1_001)]


def test_seed_is_planted_once(lines: Path, tmp_path: Path) -> None:
    """Where logs outlive the broker, what became of the seed does too."""
    for _ in range(2):
        with Broker(seed=lines, data_dir=tmp_path / "data") as kafka:
            assert len(kafka.topic("orders").records()) == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"topic": "a"}\nsoup\n', r"seed\.jsonl:2: this is not JSON"),
        ('["orders"]\n', r'seed\.jsonl:1: write an object, such as {"topic": "orders"}'),
        ('{"partitions": 3}\n', r"seed\.jsonl:1: topic is missing"),
        ('{"topic": "a", "partitions": "3"}\n', r"seed\.jsonl:1: partitions is '3', and should be a whole number"),
        ('{"topic": "a", "partitons": 3}\n', r"seed\.jsonl:1: partitons means nothing here; did you mean partitions\?"),
        (
            '{"topic": "a", "configs": {"retention.ms": "\\ud800"}}\n',
            r"seed\.jsonl:1: retention\.ms has half a character",
        ),
        ('{"group": "\\ud800", "topic": "a", "offset": 1}\n', r"seed\.jsonl:1: group has half a character"),
        ('{"value": "soup"}\n', r"seed\.jsonl:1: topic is missing"),
        ('{"topic": "a", "value_base64": "?"}\n', r"seed\.jsonl:1: value_base64 is not base64"),
        ('{"group": "g", "topic": "a"}\n', r"seed\.jsonl:1: offset is missing"),
    ],
)
def test_seed_that_makes_no_sense_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "seed.jsonl"
    path.write_text(text)
    with pytest.raises(SeedError, match=said):
        read_seed(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"topic": "a/b"}\n', r"seed\.jsonl:1: topic a/b is refused: INVALID_TOPIC_EXCEPTION"),
        (
            '{"topic": "a"}\n{"topic": "a", "partition": 4, "value": "x"}\n',
            r"seed\.jsonl:2: there is no partition 4 of a",
        ),
        ('{"group": "g", "topic": "a", "offset": 1}\n', r"seed\.jsonl:1: there is no topic a"),
        (
            '{"topic": "a", "partitions": 100000000000000000000}\n',
            r"seed\.jsonl:1: topic a: 1\d+ partitions are too many; at once 10000 can be made",
        ),
        (
            '{"topic": "a"}\n{"group": "g", "topic": "a", "offset": 100000000000000000000}\n',
            r"seed\.jsonl:2: group g refuses the offset of a-0: 1\d+ has over 64 bits",
        ),
    ],
)
def test_seed_that_kafka_would_refuse_keeps_the_broker_from_starting(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "seed.jsonl"
    path.write_text(text)
    with pytest.raises(SeedError, match=said), Broker(seed=path):
        pytest.fail("it has started")


def test_yaml_is_a_list(tmp_path: Path) -> None:
    path = tmp_path / "seed.yml"
    path.write_text("topic: orders\n")
    with pytest.raises(SeedError, match=r"seed\.yml: write a list"):
        read_seed(path)
    path.write_text("- [")
    with pytest.raises(SeedError, match=r"seed\.yml: this is not YAML"):
        read_seed(path)
    path.write_text("")
    assert read_seed(path) == []
    path.write_text("- {topic: 3}")
    with pytest.raises(SeedError, match=r"seed\.yml, item 1: topic is 3, and should be text"):
        read_seed(path)


def test_seed_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(MachineRefused, match=r"cannot read the seed .*: No such file or directory"):
        read_seed(tmp_path / "seed.jsonl")
    (tmp_path / "seed.jsonl").write_bytes(b"\xff")
    with pytest.raises(SeedError, match="is not text in UTF-8"):
        read_seed(tmp_path / "seed.jsonl")


def test_broker_at_a_terminal_begins_with_a_seed(lines: Path, tmp_path: Path) -> None:
    """Before it says that it is ready; a seed that makes no sense ends it as any wrong option does."""
    with serving("--seed", str(lines)) as broker:
        said = ottla("topics", "--bootstrap-server", broker.bootstrap, "--json").stdout
        assert '"topic": "orders"' in said
    lines.write_text("soup\n")
    ended = ottla("serve", "--listen", "127.0.0.1:0", "--seed", str(lines))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "orders.jsonl:1: this is not JSON" in ended.stderr
    assert ottla("serve", "--listen", "127.0.0.1:0", "--seed", str(tmp_path / "none")).returncode == 1


def test_offsets_are_committed_for_groups_without_members() -> None:
    """As an administrator may; a group that has members refuses, as Kafka does."""
    with Broker() as kafka:
        kafka.topic("orders").produce("soup", "bread")
        kitchen = kafka.group("kitchen")
        kitchen.commit("orders", 0, 1)
        assert (kitchen.committed, kitchen.lag) == ({("orders", 0): 1}, {("orders", 0): 1})
        with consuming(kafka.bootstrap_servers, "kitchen", "orders"):
            kitchen.wait_for_assignment()
            with pytest.raises(ChangeRefused, match="group kitchen refuses the offset of orders-0: UNKNOWN_MEMBER_ID"):
                kitchen.commit("orders", 0, 2)
        with pytest.raises(NoSuchTopic):
            kitchen.commit("bills", 0, 1)
