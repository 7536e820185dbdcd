"""A network of its own with a broker on localhost:9092 and a suite beside it.

`python -m compatibility.suites.room SUITE BROKER LOG` prints what came of each test, as JSON. It has to be started by
`in_a_room`, for which Linux has to let us make networks. `BROKER` is ottla, kafka or none.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Final

from compatibility.suites import SUITES
from compatibility.suites.suite import BOOTSTRAP, Outcome, Suite
from tests.support.kafka_process import format_storage, running, wait_until_serving
from tests.support.ottla_process import ottla

_CONTROLLER: Final = "localhost:9094"
_COMMON: Final = {"group.initial.rebalance.delay.ms": "0", "node.id": "1", "offsets.topic.num.partitions": "5"}


def missing() -> str | None:
    """Why there can be no such network here, in one line, or None."""
    for tool in ("unshare", "ip"):
        if shutil.which(tool) is None:
            return f"a network of its own needs `{tool}`, which is not on the PATH"
    done = subprocess.run(["unshare", "--map-root-user", "--net", "true"], capture_output=True, text=True, check=False)
    return done.stderr.strip() or None


def in_a_room(suite: Suite, broker: str, log: Path) -> dict[str, Outcome]:
    """What comes of the suite with a fresh broker."""
    inside = 'ip link set lo up && exec "$@"'
    command = [sys.executable, "-m", __name__, suite.name, broker, str(log)]
    done = subprocess.run(
        ["unshare", "--map-root-user", "--net", "sh", "-c", inside, "sh", *command],
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return {name: Outcome(word) for name, word in json.loads(done.stdout).items()}


def _start(broker: str, suite: Suite) -> AbstractContextManager[object]:
    settings = {**_COMMON, **suite.settings}
    match broker:
        case "ottla":
            return ottla(settings, "--listen", BOOTSTRAP, "--log-level", "error")
        case "kafka":
            return _kafka({**settings, **suite.settings_of_kafka})
    return nullcontext()


@contextmanager
def _kafka(settings: Mapping[str, str]) -> Iterator[None]:
    listeners = {
        "listeners": f"PLAINTEXT://{BOOTSTRAP},CONTROLLER://{_CONTROLLER}",
        "controller.quorum.bootstrap.servers": _CONTROLLER,
    }
    with tempfile.TemporaryDirectory(prefix="ottla-suite-") as directory:
        properties, _ = format_storage(Path(directory), {**listeners, **settings})
        with running(properties, BOOTSTRAP) as process:
            wait_until_serving(process)
            yield


def main() -> int:
    name, broker, log = sys.argv[1:]
    suite = next(suite for suite in SUITES if suite.name == name)
    with _start(broker, suite):
        if broker == "none":
            outcomes = dict.fromkeys(suite.passes_alone(), Outcome.PASSED)
        else:
            outcomes = dict(suite.run(Path(log)))
    print(json.dumps(outcomes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
