"""`ottla transactions`: which there are, which hang, and how they end."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any

import pytest

from ottla.cli import main
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.list_offsets import ListOffsetsRequest
from ottla.protocol.messages.list_transactions import ListTransactionsResponse
from ottla.protocol.messages.metadata import MetadataRequest
from tests.cli.older import older_kafka
from tests.cli.stage import LONG_AGO_MS, begin_transaction, create, hang, produce
from tests.cli.terminal import only_line, ottla, serving
from tests.support.client import Client
from tests.support.kafka_process import kafka, missing_tools

HANGING = 4000, 3
SETTINGS = {
    "transaction.partition.verification.enable": "false",
    "transaction.state.log.num.partitions": "2",
    "offsets.topic.num.partitions": "1",
}


def said(*arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of `ottla transactions` with these arguments."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        try:
            exit_code = main(["transactions", *arguments])
        except SystemExit as ended:
            exit_code = int(ended.code or 0)
    return exit_code, out.getvalue(), err.getvalue()


class Stage:
    """A broker whose topic orders has in partition 0 a transaction that somebody will end, and in 1 one that hangs."""

    def __init__(self, bootstrap: str, client: Client) -> None:
        self.bootstrap = bootstrap
        self.client = client
        create(client, "orders", 2)
        produce(client, "orders", 1, 5)
        self.producer_id = begin_transaction(client, "open", "orders")
        hang(client, "orders", 0, (self.producer_id, 0))
        self.start_offset = hang(client, "orders", 1, HANGING)

    def ask(self, *arguments: str) -> str:
        """What `ottla transactions` with these arguments says on stdout, when all is well."""
        exit_code, out, err = said(*arguments, "--bootstrap-server", self.bootstrap, "--timeout", "60")
        assert (exit_code, err) == (0, "")
        return out

    def json(self, *arguments: str) -> Any:
        return json.loads(self.ask(*arguments, "--json"))

    def refused(self, *arguments: str) -> str:
        """The one line that says what is wrong."""
        exit_code, out, err = said(*arguments, "--bootstrap-server", self.bootstrap)
        assert (exit_code, out) == (1, "")
        return only_line(err).removeprefix("ottla: ")

    def last_stable_offset(self, partition: int) -> int:
        asked = ListOffsetsRequest.ListOffsetsPartition(partition, -1, -1)
        topic = ListOffsetsRequest.ListOffsetsTopic("orders", [asked])
        answer = self.client.ask(ListOffsetsRequest(-1, 1, [topic]), 4)
        return int(answer.topics[0].partitions[0].offset)


@pytest.fixture
def stage() -> Iterator[Stage]:
    settings = [part for key, value in SETTINGS.items() for part in ("--set", f"{key}={value}")]
    with serving(*settings) as broker, Client(broker.bootstrap, client_id="ana") as client:
        yield Stage(broker.bootstrap, client)


def tells_everything(stage: Stage) -> None:
    """All that is asked of it, on any broker with one node, which is 1."""
    host, _, port = stage.bootstrap.partition(":")
    coordinator = {"node_id": 1, "host": host, "port": int(port)}
    (listed,) = stage.json()
    assert listed == {
        "transactional_id": "open",
        "coordinator": coordinator,
        "producer_id": stage.producer_id,
        "state": "Ongoing",
    }
    for wanted in (["--state", "Ongoing"], ["--producer-id", str(stage.producer_id)], ["--duration-filter", "0"],
                   ["--transactional-id-pattern", "o.*"]):  # fmt: skip
        assert stage.json("list", *wanted) == [listed]
    for unwanted in (["--state", "Empty"], ["--producer-id", "4000"], ["--duration-filter", "3600000"],
                     ["--transactional-id-pattern", "o"]):  # fmt: skip
        assert stage.json("list", *unwanted) == []

    (described,) = stage.json("describe", "open")
    assert LONG_AGO_MS < described.pop("start_ms") <= time.time() * 1000
    assert 0 <= described.pop("duration_ms") < 120_000
    assert described == {
        **listed,
        "producer_epoch": 0,
        "timeout_ms": 60_000,
        "partitions": [{"topic": "orders", "partition": 0}],
    }

    of_partition = ["--topic", "orders", "--partition", "1"]
    (producer,) = stage.json("describe-producers", *of_partition)
    assert producer == {
        "producer_id": 4000,
        "producer_epoch": 3,
        "coordinator_epoch": None,
        "last_sequence": 0,
        "last_timestamp": LONG_AGO_MS,
        "transaction_start_offset": stage.start_offset,
    }
    for scope in ([], ["--topic", "orders"], of_partition, ["--broker-id", "1"]):
        (hanging,) = stage.json("find-hanging", *scope)
        assert 0 < hanging.pop("duration_ms") - (time.time() * 1000 - LONG_AGO_MS) + 120_000 < 120_000
        assert hanging == {"topic": "orders", "partition": 1, **producer, "transactional_id": None}
    assert stage.json("find-hanging", "--topic", "orders", "--partition", "0") == []
    assert stage.json("find-hanging", "--max-transaction-timeout", "100000000") == []


def ends_them(stage: Stage) -> None:
    """What hangs, and then what somebody would have ended."""
    of_partition = ["--topic", "orders", "--partition", "1"]
    assert stage.last_stable_offset(1) == stage.start_offset
    assert stage.ask("abort", *of_partition, "--start-offset", str(stage.start_offset)) == (
        "aborted the transaction of producer 4000 with epoch 3 in partition 1 of orders\n"
    )
    assert stage.last_stable_offset(1) == stage.start_offset + 2
    assert stage.json("find-hanging") == []
    by_producer = ["--producer-id", "4000", "--producer-epoch", "3", "--coordinator-epoch", "-1"]
    aborted = stage.json("abort", *of_partition, *by_producer)
    assert aborted == {
        "topic": "orders",
        "partition": 1,
        "producer_id": 4000,
        "producer_epoch": 3,
        "coordinator_epoch": 0,
    }

    terminated = stage.json("terminate", "open")
    assert terminated.pop("producer_epoch") > 0
    assert terminated == {"transactional_id": "open", "state": "Ongoing", "producer_id": stage.producer_id}
    (described,) = stage.json("describe", "open")
    assert (described["state"], described["start_ms"], described["partitions"]) == ("Empty", None, [])
    assert described["timeout_ms"] == 60_000
    assert stage.last_stable_offset(0) == 2


def test_everything_is_told_and_ended(stage: Stage) -> None:
    """As below of a real Kafka."""
    tells_everything(stage)
    ends_them(stage)


@pytest.mark.skipif(missing_tools() is not None, reason=str(missing_tools()))
def test_a_real_kafka_tells_the_same() -> None:
    """The command knows nothing of Ottla."""
    with kafka(SETTINGS) as broker, Client(broker.bootstrap, client_id="ana") as client:
        stage = Stage(broker.bootstrap, client)
        tells_everything(stage)
        ends_them(stage)


def test_tables_are_for_people(stage: Stage) -> None:
    """A line for each, with a dash for what there is not."""
    assert stage.ask().splitlines() == [
        "TRANSACTIONAL ID  STATE    PRODUCER  COORDINATOR",
        f"open              Ongoing  {stage.producer_id:8}  1 at {stage.bootstrap}",
    ]
    described = stage.ask("describe", "open").splitlines()
    assert described[0].split("  ")[:2] == ["TRANSACTIONAL ID", "STATE"]
    assert described[2:] == ["", "TOPIC   PARTITION", "orders          0"]
    assert stage.ask("describe-producers", "--topic", "orders", "--partition", "1").splitlines() == [
        "PRODUCER  EPOCH  COORDINATOR EPOCH  LAST SEQUENCE  LAST TIMESTAMP  TXN START",
        "    4000      3  -                              0   1600000000000          5",
    ]
    header, hanging = stage.ask("find-hanging").splitlines()
    assert header.endswith("OPEN MINUTES  TRANSACTIONAL ID")
    assert hanging.split()[:6] == ["orders", "1", "4000", "3", "-", "5"]
    assert stage.ask("terminate", "open").startswith("open was Ongoing; its producer is fenced, ")


def test_what_is_not_there_is_named(stage: Stage) -> None:
    """With what would help."""
    place = ["--topic", "orders", "--partition", "1"]
    for arguments, complaint in [
        (["describe", "open", "closed"], "no broker knows a transactional id closed; `ottla transactions` lists"),
        (["terminate", "closed"], "no broker knows a transactional id closed; "),
        (["list", "--state", "ongoing"], "there is no state ongoing; states are written as "),
        (["list", "--transactional-id-pattern", "("], "( is no regular expression in RE2's syntax; "),
        (["describe-producers", "--topic", "absent", "--partition", "0"], "there is no topic absent; `ottla topics`"),
        (["describe-producers", "--topic", "orders", "--partition", "2"], "orders has no partition 2; "),
        (["describe-producers", *place, "--broker-id", "7"], "there is no broker 7; there are 1"),
        (["find-hanging", "--topic", "absent"], "there is no topic absent; "),
        (["find-hanging", "--broker-id", "7"], "there is no broker 7; there are 1"),
        (["abort", *place, "--start-offset", "4"], "no open transaction starts at offset 4 of partition 1 of orders; "),
        (["abort", *place, "--producer-id", "4000", "--producer-epoch", "2", "--coordinator-epoch", "0"],
         f"{stage.bootstrap} can't answer that: the partition has seen a later epoch of producer 4000; "),
    ]:  # fmt: skip
        assert stage.refused(*arguments).startswith(complaint)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("find-hanging --partition 1", "--partition is given without a topic; add --topic NAME"),
        ("abort --topic t --partition 1", "the transaction to abort is named by --start-offset OFFSET, or by all of "),
        (
            "abort --topic t --partition 1 --producer-id 1",
            "the transaction to abort is named by --start-offset OFFSET, ",
        ),
        ("describe-producers --topic t", "the following arguments are required: --partition"),
        ("list --bootstrap-server nowhere", "--bootstrap-server nowhere is not HOST:PORT"),
        ("list --timeout 0", "--timeout 0 is not a number above 0"),
    ],
)
def test_what_can_not_be_meant_is_said(arguments: str, complaint: str) -> None:
    """With exit code 2, and before anybody is asked."""
    exit_code, out, err = said(*arguments.split())
    assert (exit_code, out) == (2, "")
    assert only_line(err).startswith(f"ottla: {complaint}")


def test_looking_changes_nothing() -> None:
    """A broker on which nobody used transactions does not make the topic for them, and knows no id."""
    with serving() as broker:
        at = "--bootstrap-server", broker.bootstrap
        for action in ("list", "find-hanging"):
            assert said(action, "--json", *at) == (0, "[]\n", "")
        exit_code, _, err = said("describe", "tx", *at)
        assert exit_code == 1
        assert only_line(err).startswith("ottla: no broker knows a transactional id tx; ")
        assert json.loads(ottla("topics", "--json", *at).stdout) == []


def test_several_nodes_are_asked() -> None:
    """Each coordinates some ids, and leads some partitions."""
    settings = [part for key, value in SETTINGS.items() for part in ("--set", f"{key}={value}")]
    with serving("--nodes", "3", *settings) as broker:
        with Client(broker.bootstrap) as client:
            create(client, "orders", 3)
            told = client.ask(MetadataRequest([MetadataRequest.MetadataRequestTopic(name="orders")]), 9)
        ports = {node.node_id: node.port for node in told.brokers}
        leaders = {partition.partition_index: partition.leader_id for partition in told.topics[0].partitions}
        assert sorted(leaders.values()) == [1, 2, 3]
        for index, leader_id in leaders.items():
            with Client(f"127.0.0.1:{ports[leader_id]}") as client:
                hang(client, "orders", index, (4000 + index, 0))

        def found(*arguments: str) -> list[int]:
            _, out, _ = said("find-hanging", "--json", "--bootstrap-server", broker.bootstrap, *arguments)
            return [one["producer_id"] for one in json.loads(out)]

        assert found() == [4000, 4001, 4002]
        assert {leader_id: found("--broker-id", str(leader_id)) for leader_id in ports} == {
            leader_id: [4000 + index] for index, leader_id in leaders.items()
        }


def test_an_older_kafka_is_told_from_one_that_fails() -> None:
    """The sentence says what it would need."""
    with older_kafka() as bootstrap:
        for arguments, needed in [
            (["list"], "ListTransactions v0, and this Kafka doesn't have it"),
            (["describe-producers", "--topic", "orders", "--partition", "0"], "DescribeProducers v0, and this Kafka "),
            (["abort", "--topic", "orders", "--partition", "0", "--producer-id", "1", "--producer-epoch", "0",
              "--coordinator-epoch", "0"], "WriteTxnMarkers v1, and this Kafka ends at v0"),
        ]:  # fmt: skip
            exit_code, _, err = said(*arguments, "--bootstrap-server", bootstrap)
            assert exit_code == 1
            assert only_line(err).startswith(f"ottla: {bootstrap} can't answer that: it needs {needed}")


def test_it_is_asked_again_what_passes() -> None:
    """A coordinator that is being read, a connection that breaks: the next try tells. In the version that it knows."""
    one = ListTransactionsResponse.TransactionState("tx", 7, "Ongoing")
    loading = ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    with older_kafka(loading, None, ListTransactionsResponse(transaction_states=[one])) as bootstrap:
        exit_code, out, err = said("list", "--json", "--bootstrap-server", bootstrap)
        assert (exit_code, err) == (0, "")
        assert [found["transactional_id"] for found in json.loads(out)] == ["tx"]


def test_what_does_not_pass_is_said_in_the_end() -> None:
    """What the broker has said all the time; at once what will not pass; and what its version has no word for."""
    loading = ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    refused = ListTransactionsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    unknown = ListTransactionsResponse(error_code=9999)
    filtered = ["--transactional-id-pattern", "a"]
    for answers, arguments, complaint in [
        (
            [loading] * 9,
            ["--timeout", "0.5"],
            "for 0.5 s it has said node 1 lists no transactions: COORDINATOR_LOAD_IN",
        ),
        ([refused], [], "node 1 lists no transactions: CLUSTER_AUTHORIZATION_FAILED. "),
        ([unknown], [], "node 1 lists no transactions: error 9999, which is not known here. "),
        ([refused], filtered, "it needs ListTransactions v2, and this Kafka ends at v0; it is older, "),
    ]:
        with older_kafka(*answers) as bootstrap:
            exit_code, _, err = said("list", *arguments, "--bootstrap-server", bootstrap)
            assert exit_code == 1
            assert only_line(err).startswith(f"ottla: {bootstrap} can't answer that: {complaint}")


def test_nobody_there_is_said() -> None:
    """As of the other commands."""
    ended = ottla("transactions", "--bootstrap-server", "127.0.0.1:1")
    assert ended.returncode == 1
    assert only_line(ended.stderr).startswith(
        "ottla: nothing answers at 127.0.0.1:1; start a broker with `ottla serve`"
    )
