"""`ottla topics consume`, `tail` and `produce`: records to and from a topic, for people and for scripts."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from ottla.cli.start_of_reading import FromOffset, FromTime, NoStart, parse_start
from ottla.testing import Broker
from tests.cli.stage import create
from tests.cli.terminal import PROGRAM, only_line, ottla, serving
from tests.support.client import Client
from tests.support.patience import PATIENCE_SECONDS

NOW_MS = 1_795_273_956_114


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with serving() as broker, Client(broker.bootstrap) as client:
        create(client, "orders", 2)
        create(client, "copies", 2)
        yield broker.bootstrap


def run(bootstrap: str, *arguments: str, stdin: str = "") -> str:
    ended = ottla("topics", *arguments, "--bootstrap-server", bootstrap, input=stdin)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def test_lines_become_records_and_records_lines(bootstrap: str) -> None:
    """Keys, headers, a chosen partition; what is shown to programs can be produced again and is the same."""
    said = run(bootstrap, "produce", "orders", "--partition", "0", stdin="soup\nsalad\n")
    assert said == "2 records to orders\n"
    keyed = ("--key-separator", ":", "--header", "from=ana", "--partition", "1")
    run(bootstrap, "produce", "orders", *keyed, stdin="table 4:cake\nnobody's\n")
    lines = [line.split("  ") for line in run(bootstrap, "consume", "orders", "--partition", "1").splitlines()]
    assert [[line[0], *line[2:]] for line in lines] == [
        ["1:0", "table 4", "cake", "from=ana"],
        ["1:1", "-", "nobody's", "from=ana"],
    ]
    shown = run(bootstrap, "consume", "orders", "--json")
    run(bootstrap, "produce", "copies", "--json", stdin=shown)
    again = run(bootstrap, "consume", "copies", "--json")
    assert sorted(again.replace("copies", "orders").splitlines()) == sorted(shown.splitlines())
    assert run(bootstrap, "consume", "orders", "--partition", "0", "--values") == "soup\nsalad\n"
    assert run(bootstrap, "consume", "orders", "--partition", "0", "--values", "--from", "-1") == "salad\n"
    assert run(bootstrap, "consume", "orders", "--from", "1h", "--max", "1").count("\n") == 1
    assert run(bootstrap, "consume", "orders", "--from", "end") == ""


def test_tail_goes_on_with_what_comes(bootstrap: str) -> None:
    run(bootstrap, "produce", "news", stdin="old\nolder\n")
    tailing = subprocess.Popen(
        [PROGRAM, "topics", "tail", "news", "-n", "1", "--values", "--max", "2", "--bootstrap-server", bootstrap],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert tailing.stdout is not None
    assert tailing.stdout.readline() == "older\n"
    run(bootstrap, "produce", "news", stdin="new\n")
    assert tailing.communicate(timeout=PATIENCE_SECONDS)[0] == "new\n"
    assert tailing.returncode == 0


@pytest.mark.parametrize("ends_with", ["commit", "abort", "nothing"])
def test_aborted_and_open_transactions_are_left_out_and_do_not_keep_it_from_ending(
    bootstrap: str, ends_with: str
) -> None:
    """The end of a log may be a marker, or records that nobody may see yet."""
    topic = f"ledger-{ends_with}"
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
    producer.init_transactions(60)
    for value, end in (("kept", "commit"), ("last", ends_with)):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush(60)
        {"commit": producer.commit_transaction, "abort": producer.abort_transaction}.get(end, float)()
    assert run(bootstrap, "consume", topic, "--values").split() == ["kept", "last"][: 1 + (ends_with == "commit")]
    assert run(bootstrap, "consume", topic, "--values", "--uncommitted").split() == ["kept", "last"]


def test_what_was_consumed_is_a_seed(bootstrap: str, tmp_path: Path) -> None:
    """A piece of a topic is what a test's broker begins with."""
    said = run(bootstrap, "produce", "dishes", "--key", "menu", "--header", "from=ana", stdin="soup\n")
    assert said == "1 record to dishes\n"
    (tmp_path / "seed.jsonl").write_text(run(bootstrap, "consume", "dishes", "--json"))
    with Broker(seed=tmp_path / "seed.jsonl") as kafka:
        (record,) = kafka.topic("dishes").records()
        assert (record.key, record.value, list(record.headers)) == (b"menu", b"soup", [("from", b"ana")])


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        (("consume", "nosuch"), 1, "there is no topic nosuch; `ottla topics` lists those there are"),
        (("consume", "orders", "--partition", "7"), 1, "orders has no partition 7; it has 2, from 0"),
        (
            ("consume", "orders", "--from", "yesterday"),
            2,
            "--from yesterday names no place in a topic; write beginning",
        ),
        (("consume", "orders", "--max", "0"), 2, "--max 0 is below 1"),
        (("tail", "orders", "-n", "-1"), 2, "-n -1 is below 0"),
        (("produce", "orders", "--header", "from"), 2, "--header from is not NAME=VALUE"),
        (("produce", "orders", "--json", "--key", "a"), 2, "--json lines have keys of their own"),
        (("produce", "orders", "--json"), 2, "line 1: this is not JSON"),
        (("produce", "orders", "--partition", "7"), 2, "orders has no partition 7; it has 2, from 0"),
        (
            ("produce", "my orders"),
            2,
            "no topic can have this name: 'my orders' has characters other than ASCII letters",
        ),
        (("produce", "orders", "no/such/file"), 1, "cannot read no/such/file: No such file or directory"),
    ],
)
def test_what_cannot_be_done_is_one_line(bootstrap: str, arguments: tuple[str, ...], exit_code: int, said: str) -> None:
    ended = ottla("topics", *arguments, "--bootstrap-server", bootstrap, input="soup\n")
    assert only_line(ended.stderr).startswith(f"ottla: {said}")
    assert (ended.returncode, ended.stdout) == (exit_code, "")


def test_a_topic_that_the_broker_does_not_create_is_said() -> None:
    """In place of the client's name for the error."""
    with Broker(settings={"auto.create.topics.enable": False}) as broker:
        to = ("--bootstrap-server", broker.bootstrap_servers, "--timeout", "1")
        ended = ottla("topics", "produce", "orders", *to, input="soup\n")
    assert only_line(ended.stderr) == "ottla: there is no topic orders, and the broker did not create it"
    assert (ended.returncode, ended.stdout) == (1, "")


def test_a_broker_that_dies_meanwhile_is_one_line() -> None:
    """And not one more for each record that waits for its answer."""
    with Broker() as broker:
        broker.topic("orders").create()
        broker.fault("Produce").cut(at="request").until_removed()
        to = ("--bootstrap-server", broker.bootstrap_servers, "--timeout", "2")
        ended = ottla("topics", "produce", "orders", *to, input="soup\n" * 500)
    assert only_line(ended.stderr).startswith("ottla: ")
    assert (ended.returncode, ended.stdout) == (1, "")


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x46", b"\x7f\xff\xff\xff" * 2]
)
def test_a_server_that_is_no_kafka_is_told_apart_from_none(answer: bytes) -> None:
    """Its first bytes are no size to make room for: "HTTP" would be 1.2 GB."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            client, _ = server.accept()
            with client:
                client.recv(1)
                client.sendall(answer)
                client.recv(1 << 16)

        thread = threading.Thread(target=serve)
        thread.start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        ended = ottla("topics", "--bootstrap-server", address)
        thread.join()
    assert only_line(ended.stderr).startswith(
        f"ottla: {address} answers, but not in Kafka's protocol: its answer begins"
    )
    assert ended.returncode == 1


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("beginning", FromOffset(0)),
        ("end", None),
        ("0", FromOffset(0)),
        ("42", FromOffset(42)),
        ("-10", FromOffset(-10)),
        ("-0", None),
        ("15m", FromTime(NOW_MS - 900_000)),
        ("2d", FromTime(NOW_MS - 172_800_000)),
        ("2026-11-22T10:00+01:00", FromTime(1_795_338_000_000)),
        ("1970-01-01T00:00:00.250Z", FromTime(250)),
        ("1111-11-11", FromTime(0)),
    ],
)
def test_places_to_begin(text: str, start: FromOffset | FromTime | None) -> None:
    assert parse_start(text, NOW_MS) == start


@pytest.mark.parametrize("text", ["", "soon", "15x", "1.5h", "2026-13-01"])
def test_places_that_there_are_not(text: str) -> None:
    with pytest.raises(NoStart, match="names no place in a topic"):
        parse_start(text, NOW_MS)
