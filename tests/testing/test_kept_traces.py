"""`pytest --kafka-trace`, in a project of somebody's own."""

from __future__ import annotations

from pathlib import Path

from ottla.testing import Broker
from ottla.testing.trace.of_file import read_traces
from tests.testing.test_plugin import run

_TESTS = """\
from ottla.testing import Broker
def test_fine(kafka):
    kafka.topic('orders').create()
def test_failed(kafka):
    kafka.topic('bills').create()
    with Broker() as other:
        other.topic('tables').create()
    assert False
def test_without():
    assert False
@pytest.fixture
def broken(kafka):
    kafka.topic('plates').create()
    raise RuntimeError
def test_set_up(broken): ...
"""


def test_failed_tests_leave_pages(tmp_path: Path) -> None:
    """One a broker, be it a fixture's or the test's own; the report says where. Others leave none."""
    said = run(_TESTS, tmp_path, "--kafka-trace=retain-on-failure")
    assert "2 failed, 1 passed, 1 error" in said
    pages = sorted((tmp_path / "kafka-traces").iterdir())
    assert len(pages) == 3
    for page in pages:
        assert str(page) in said
    (traces,) = zip(*(read_traces(page) for page in pages), strict=True)
    topics = [[event["details"].get("topic") for event in trace["events"]] for trace in traces]
    assert [("bills" in names, "tables" in names, "plates" in names) for names in topics] == [
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ]
    assert {trace["outcome"] for trace in traces} == {"failed"}
    assert all(trace["has_requests"] for trace in traces)


def test_pages_of_all_tests_when_asked_for(tmp_path: Path) -> None:
    """And where they are wanted; of a shared broker what was since it was reset."""
    said = run(
        "def test_one(kafka_session):\n    kafka_session.topic('one').create()\n"
        "def test_two(kafka_session):\n    kafka_session.topic('two').create()\n",
        tmp_path,
        "--kafka-trace=on",
        "--kafka-trace-dir",
        "deep/er",
    )
    assert "2 passed" in said
    one, two = sorted((tmp_path / "deep" / "er").iterdir(), key=lambda page: "two" in page.name)
    assert [trace["outcome"] for page in (one, two) for trace in read_traces(page)] == ["passed", "passed"]
    topics = [event["details"].get("topic") for event in read_traces(two)[0]["events"]]
    assert "two" in topics
    assert "one" not in topics


def test_page_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """And the test has failed for its own reason all the same."""
    (tmp_path / "file").write_text("")
    said = run(_TESTS, tmp_path, "--kafka-trace=retain-on-failure", "--kafka-trace-dir=file", "-k", "test_failed")
    assert "1 failed" in said
    assert "cannot be written: " in said
    assert "INTERNALERROR" not in said


def test_processes_of_xdist_write_each_their_own(tmp_path: Path) -> None:
    """Into one directory, and the one report has all of them."""
    said = run(_TESTS, tmp_path, "--kafka-trace=retain-on-failure", "-n2", "-p", "xdist")
    pages = list((tmp_path / "kafka-traces").iterdir())
    assert len(pages) == 3
    assert all(str(page) in said for page in pages)


def test_no_pages_unless_asked_for(tmp_path: Path) -> None:
    """And no requests are recorded, and nobody is told of brokers."""
    said = run(
        "def test_off(kafka):\n"
        "    assert not kafka.record_requests and type(kafka).on_start is None\n"
        "    kafka.topic('orders').create()\n"
        "    assert False, 'on purpose'\n",
        tmp_path,
    )
    assert "on purpose" in said
    assert "kafka-trace" not in said
    assert not (tmp_path / "kafka-traces").exists()


def test_trace_is_written_without_pytest(tmp_path: Path) -> None:
    """While the broker runs and when it has stopped."""
    with Broker(record_requests=True) as kafka:
        kafka.topic("orders").create()
        kafka.write_trace(tmp_path / "running.html", "orders")
    kafka.write_trace(tmp_path / "stopped.html")
    (running,), (stopped,) = (read_traces(tmp_path / name) for name in ("running.html", "stopped.html"))
    assert running["title"] == "orders"
    assert running["events"] == stopped["events"][: len(running["events"])]
