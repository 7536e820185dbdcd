"""A broker without `ottla.control` is whole: what tests and scripts do to a broker is attached to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from kafka import KafkaConsumer, KafkaProducer

from tests.support.patience import PATIENCE_SECONDS

#: `ottla` where every import of `ottla.control`, or of a module in it, raises ImportError.
_WITHOUT_CONTROL: Final = """
import sys
sys.modules["ottla.control"] = None
from ottla.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_broker_without_control_is_whole(tmp_path: Path) -> None:
    """It has nodes, a directory and a journal; a group joins, consumes and commits; SIGTERM ends it in order."""
    journal = tmp_path / "journal"
    options = ["--data-dir", str(tmp_path / "data"), "--journal", str(journal), "--nodes", "2", "--listen"]
    quick = ["127.0.0.1:0", "--set", "group.initial.rebalance.delay.ms=0"]
    command = [sys.executable, "-c", _WITHOUT_CONTROL, "serve", *options, *quick]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            ready = process.stdout.readline()
            assert ready.startswith("ottla ready "), ready
            consume(ready.split()[2].removeprefix("bootstrap="))
        finally:
            process.terminate()
            _, log = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, log
    assert "broker.stopped" in log
    assert "Traceback" not in log
    assert '"group.emptied"' in journal.read_text()


def consume(bootstrap: str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    producer.send("orders", b"soup").get(PATIENCE_SECONDS)
    producer.close()
    consumer = KafkaConsumer(
        "orders",
        bootstrap_servers=bootstrap,
        group_id="kitchen",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=int(PATIENCE_SECONDS * 1000),
    )
    assert next(consumer).value == b"soup"
    consumer.commit()
    (partition,) = consumer.assignment()
    assert consumer.committed(partition) == 1
    consumer.close()
