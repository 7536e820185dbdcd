"""The pytest plugin: brokers as fixtures, set up by the `kafka` marker, and what happened in the report of a failure.

@pytest.mark.kafka(nodes=3, settings={"num.partitions": 6})    # without it: one node, defaults
def test_orders_are_counted(kafka):
    service = Service(bootstrap_servers=kafka.bootstrap_servers)

kafka             a broker of the test's own: it is up in a few milliseconds, and nothing is left over
async_kafka       the same for tests with an event loop, whatever runs them: its waits are awaited
ottla_broker      `kafka` by another name, for a test that also says `import kafka`
kafka_session     one broker for the whole run, for fixtures that live as long; after each test it is reset
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

import pytest

if TYPE_CHECKING:
    from ottla.testing.async_kafka import AsyncKafka
    from ottla.testing.broker import Broker
    from ottla.testing.kept_traces import KeptTraces

_MARKER: Final = """\
kafka(nodes=1, clock="system", settings={}): the broker behind the `kafka` and `async_kafka` fixtures. \
nodes: number of brokers; clock: with "virtual" time stands still until kafka.advance(ms); \
settings: broker settings by Kafka's names. Takes all arguments of ottla.testing.Broker."""
_SECTION: Final = "Events of the broker"
_TRACE_SECTION: Final = "Trace of the broker"
_SHARED: Final = pytest.StashKey["Broker"]()
_TRACES: Final = pytest.StashKey["KeptTraces"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ottla")
    group.addoption("--ottla-seed", type=int, metavar="SEED", help="run @simulated() tests with this seed only")
    group.addoption(
        "--kafka-trace",
        choices=("off", "on", "retain-on-failure"),
        default="off",
        help="write a trace of each broker as a page: for all tests that use one, or only for failed ones",
    )
    group.addoption("--kafka-trace-dir", default="kafka-traces", metavar="DIR", help="the folder for these pages")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    if (seed := config.getoption("--ottla-seed")) is not None:
        from ottla.testing.simulation import seeds

        seeds.chosen = seed
    if config.getoption("--kafka-trace") != "off":
        from pathlib import Path

        from ottla.testing.kept_traces import KeptTraces

        config.stash[_TRACES] = traces = KeptTraces(Path(config.getoption("--kafka-trace-dir")).absolute())
        traces.watch()
        config.add_cleanup(traces.stop)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if (traces := item.config.stash.get(_TRACES, None)) is not None:
        traces.begin_test()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A fault that has not fired when the test is at its end fails the test."""
    result = yield
    if "ottla.testing.broker" in sys.modules:
        for broker in _brokers_of(item):
            if broker.is_running:
                broker.check_faults()
    return result


@pytest.fixture
def kafka(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A running broker of the test's own; `kafka.bootstrap_servers` is what clients need."""
    with _marked_broker(request) as broker:
        yield broker


@pytest.fixture
def ottla_broker(kafka: Broker) -> Broker:
    """`kafka` by another name, for tests that `import kafka`, the client."""
    return kafka


@pytest.fixture
def async_kafka(request: pytest.FixtureRequest) -> Iterator[AsyncKafka]:
    """The same for a test with an event loop: `await async_kafka.group("kitchen").wait_for_assignment()`."""
    from ottla.testing.async_kafka import AsyncKafka

    with _marked_broker(request) as broker:
        yield AsyncKafka(broker)


@pytest.fixture(scope="session")
def kafka_session_options() -> dict[str, Any]:
    """What `kafka_session` is made with. To be overridden in a conftest.py; the names are those of the marker."""
    return {}


@pytest.fixture(scope="session")
def kafka_session(request: pytest.FixtureRequest, kafka_session_options: dict[str, Any]) -> Iterator[Broker]:
    """One broker for the whole run, or for each process of pytest-xdist's. It is reset after each test that uses it."""
    with _running("kafka_session_options", kafka_session_options) as broker:
        request.config.stash[_SHARED] = broker
        yield broker


@contextmanager
def _marked_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A running broker as the test's marker wants it."""
    marker = request.node.get_closest_marker("kafka")
    if marker is not None and marker.args:
        pytest.fail("the kafka marker takes its options by name, such as nodes=3", pytrace=False)
    with _running("the kafka marker", marker.kwargs if marker else {}) as broker:
        yield broker


@contextmanager
def _running(whose: str, options: dict[str, Any]) -> Iterator[Broker]:
    """A running broker. What it can't be made with fails the test in one sentence: our frames would only hide it."""
    from ottla.cluster.address import MachineRefused
    from ottla.testing.broker import Broker

    with ExitStack() as until_its_end:
        refusal = ""
        try:
            broker = until_its_end.enter_context(Broker(**_checked(options)))
        except (ValueError, MachineRefused) as error:
            refusal = f"{whose}: {error}"
        if refusal:  # told out here, or pytest would tell the error it was made of as well
            pytest.fail(refusal, pytrace=False)
        yield broker


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    """Options of `Broker`. Raises `ValueError` for one that there is not."""
    from inspect import signature

    from ottla.testing.broker import Broker
    from ottla.text.nearest import nearest

    known = list(signature(Broker).parameters)
    for name in options:
        if name not in known:
            raise ValueError(f"there is no option {name!r}; {nearest(name, known)}")
    return options


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Reset the shared broker when the test's own fixtures are gone."""
    result = yield
    broker = item.config.stash.get(_SHARED, None)
    if broker is not None and broker.is_running and "kafka_session" in getattr(item, "fixturenames", ()):
        broker.reset()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what happened in the broker of a test that has failed, unless the failure shows it already."""
    report = yield
    if report.when == "call" and report.failed and "ottla.testing.broker" in sys.modules:
        from ottla.testing.asserting import TIMELINE_TITLE

        if TIMELINE_TITLE not in report.longreprtext:
            report.sections += [(_SECTION, str(broker.timeline.short())) for broker in _brokers_of(item)]
    if (traces := item.config.stash.get(_TRACES, None)) is not None:
        _keep_trace(traces, item, report)
    return report


def _keep_trace(traces: KeptTraces, item: pytest.Item, report: pytest.TestReport) -> None:
    """Write the pages of a test that has failed; with `on`, of one that has passed too. The report says where."""
    if report.failed:
        outcome: Literal["passed", "failed"] = "failed"
    elif report.when == "call" and report.passed and item.config.getoption("--kafka-trace") == "on":
        outcome = "passed"
    else:
        return
    try:
        said = [str(page) for page in traces.write(item.nodeid, outcome)]
    except OSError as error:
        said = [f"cannot be written: {error}"]
    report.sections += [(_TRACE_SECTION, text) for text in said]


def _brokers_of(item: pytest.Item) -> list[Broker]:
    """The running brokers among the fixtures of a test, and that of a unittest.TestCase."""
    from ottla.testing.async_kafka import AsyncKafka
    from ottla.testing.broker import Broker

    values = [*getattr(item, "funcargs", {}).values(), getattr(getattr(item, "instance", None), "kafka", None)]
    found = [value.broker if isinstance(value, AsyncKafka) else value for value in values]
    return [broker for broker in found if isinstance(broker, Broker) and broker.has_started]
