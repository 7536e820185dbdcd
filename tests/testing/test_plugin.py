"""The `kafka` fixture and its marker, in a project of somebody's own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

SECONDS_MAX = 60


def run(code: str, folder: Path, *options: str, plugins: Sequence[str] = ("-p", "no:asyncio")) -> str:
    """What pytest says of a file with this code, at a terminal: in CI it says some of it twice."""
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER")}
    (folder / "test_mine.py").write_text(f"import pytest\n{code}")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "--strict-markers", *plugins, *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    return ended.stdout + ended.stderr


def test_marker_sets_the_broker_up(tmp_path: Path) -> None:
    """Its words are those of `Broker`."""
    said = run(
        "@pytest.mark.kafka(nodes=3)\n"
        "def test_nodes(kafka):\n"
        "    assert kafka.bootstrap_servers.count(',') == 2\n"
        "def test_one(kafka):\n"
        "    assert kafka.bootstrap_servers.count(',') == 0\n",
        tmp_path,
    )
    assert "2 passed" in said


def test_marker_that_says_something_else_is_an_error(tmp_path: Path) -> None:
    """And not ignored, for the test would be about another broker than it says."""
    said = run(
        "@pytest.mark.kafka(3)\n"
        "def test_number(kafka): ...\n"
        "@pytest.mark.kafka(noodles=3)\n"
        "def test_typo(kafka): ...\n",
        tmp_path,
    )
    assert "2 errors" in said
    assert "passed" not in said
    assert "the kafka marker takes its options by name, such as nodes=3" in said
    assert "the kafka marker: there is no option 'noodles'; did you mean nodes?" in said


def test_value_that_cannot_be_is_told_in_one_sentence(tmp_path: Path) -> None:
    """None of our frames around it: the mistake is in the marker."""
    said = run("@pytest.mark.kafka(settings={'num.partitions': 0})\ndef test_none(kafka): ...\n", tmp_path)
    assert "1 error" in said
    assert "the kafka marker: num.partitions" in said
    assert "During handling" not in said
    assert "ottla/" not in said.replace("ottla/testing/plugin.py:", "")


def test_fixture_by_another_name_leaves_the_client_its_name(tmp_path: Path) -> None:
    """A test that imports kafka, the client library, asks for `ottla_broker`; it is set up by the same marker."""
    said = run(
        "import kafka\n"
        "@pytest.mark.kafka(nodes=2)\n"
        "def test_client(ottla_broker):\n"
        "    admin = kafka.KafkaAdminClient(bootstrap_servers=ottla_broker.bootstrap_servers)\n"
        "    assert len(admin.describe_cluster()['brokers']) == 2\n"
        "    admin.close()\n",
        tmp_path,
        "-W",
        "ignore::DeprecationWarning",
    )
    assert "1 passed" in said


def test_setting_that_is_misspelt_is_an_error(tmp_path: Path) -> None:
    """With the name that was meant. A name of Kafka's that has no effect here is let pass."""
    said = run(
        "@pytest.mark.kafka(settings={'num.partition': 3})\n"
        "def test_typo(kafka): ...\n"
        "@pytest.mark.kafka(settings={'background.threads': 3})\n"
        "def test_other(kafka): ...\n",
        tmp_path,
    )
    assert "1 passed, 1 error" in said
    assert "there is no setting num.partition; did you mean num.partitions?" in said


def test_failed_test_shows_what_happened(tmp_path: Path) -> None:
    """In a section of its own, and once: not if the failure shows it."""
    said = run(
        "def test_plain(kafka):\n"
        "    kafka.topic('orders').create()\n"
        "    assert False\n"
        "def test_asserted(kafka):\n"
        "    kafka.topic('bills').create()\n"
        "    kafka.group('kitchen').assert_rebalances()\n"
        "def test_fine(kafka):\n"
        "    kafka.topic('secrets').create()\n"
        "async def test_async(async_kafka):\n"
        "    async_kafka.topic('tables').create()\n"
        "    assert False\n",
        tmp_path,
        "-o",
        "asyncio_mode=auto",
        "-o",
        "asyncio_default_fixture_loop_scope=function",
        plugins=(),
    )
    assert "3 failed, 1 passed" in said
    assert said.count("Events of the broker") == 2
    assert said.count("topic orders created, 1 partition\n") == 1
    assert said.count("topic bills created, 1 partition\n") == 1
    assert said.count("topic tables created, 1 partition\n") == 1
    assert "secrets" not in said


def test_shared_broker_is_reset_after_each_test(tmp_path: Path) -> None:
    """Fixtures that live as long as the run may use it, and its options are said in one place."""
    said = run(
        "@pytest.fixture(scope='session')\n"
        "def kafka_session_options():\n"
        "    return {'nodes': 2}\n"
        "@pytest.fixture(scope='session')\n"
        "def service(kafka_session):\n"
        "    return kafka_session.bootstrap_servers\n"
        "@pytest.mark.parametrize('number', range(3))\n"
        "def test_clean(kafka_session, service, number):\n"
        "    assert service == kafka_session.bootstrap_servers and service.count(',') == 1\n"
        "    assert kafka_session.topic('orders').records() == []\n"
        "    kafka_session.topic('orders').produce('soup')\n",
        tmp_path,
    )
    assert "3 passed" in said, said


def test_processes_of_xdist_have_a_shared_broker_each(tmp_path: Path) -> None:
    """And tests with an event loop run beside those without."""
    said = run(
        "import asyncio\n"
        "@pytest.mark.parametrize('number', range(4))\n"
        "def test_sync(kafka_session, number):\n"
        "    kafka_session.topic('orders').produce('soup')\n"
        "    assert len(kafka_session.topic('orders').records()) == 1\n"
        "@pytest.mark.kafka(clock='virtual')\n"
        "@pytest.mark.parametrize('number', range(4))\n"
        "async def test_async(async_kafka, number):\n"
        "    waiting = asyncio.ensure_future(async_kafka.topic('orders').wait_for_records(1))\n"
        "    await asyncio.sleep(0)\n"
        "    async_kafka.topic('orders').produce('soup')\n"
        "    assert (await waiting)[0].text == 'soup'\n"
        "    await async_kafka.advance(1000)\n"
        "    assert await async_kafka.advance_until(lambda: True, limit_ms=1) == 0\n"
        "    await async_kafka.wait_until_idle()\n"
        "    taken = async_kafka.broker.snapshot()\n"
        "    await async_kafka.reset()\n"
        "    assert async_kafka.topic('orders').records() == []\n"
        "    await async_kafka.restore(taken)\n"
        "    assert len(async_kafka.topic('orders').records()) == 1\n"
        "    assert async_kafka.group('kitchen').state == 'Dead' and async_kafka.timeline\n",
        tmp_path,
        "-n",
        "2",
        "-o",
        "asyncio_mode=auto",
        "-o",
        "asyncio_default_fixture_loop_scope=function",
        plugins=(),
    )
    assert "8 passed" in said, said


def test_case_of_unittest_has_a_broker(tmp_path: Path) -> None:
    """One for each test, with the options of the class, under unittest as under pytest, with an event loop or none."""
    code = (
        "import unittest\n"
        "from ottla.testing import KafkaTestCase\n"
        "class OrdersTest(KafkaTestCase):\n"
        "    kafka_options = {'nodes': 2}\n"
        "    def test_one(self):\n"
        "        self.kafka.topic('orders').produce('soup')\n"
        "        self.assertEqual(self.kafka.bootstrap_servers.count(','), 1)\n"
        "    def test_two(self):\n"
        "        self.assertEqual(self.kafka.topic('orders').records(), [])\n"
        "class AsyncTest(KafkaTestCase, unittest.IsolatedAsyncioTestCase):\n"
        "    async def test_three(self):\n"
        "        self.kafka.topic('orders').produce('soup')\n"
        "        await self.kafka.aio.topic('orders').wait_for_records(1)\n"
    )
    assert "3 passed" in run(code, tmp_path)
    ended = subprocess.run(
        [sys.executable, "-m", "unittest", "test_mine.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert "Ran 3 tests" in ended.stderr
    assert ended.returncode == 0, ended.stderr
    code += "    def test_four(self):\n        self.kafka.topic('tables').create()\n        self.fail()\n"
    assert "topic tables created, 1 partition" in run(code, tmp_path)


def test_runs_without_the_fixture_load_no_broker(tmp_path: Path) -> None:
    """Whoever has Ottla installed imports the plugin, whatever the tests are about."""
    dear = {"ottla", "uvloop", "structlog"}
    if sys.version_info < (3, 14):  # from then on pdb, and with it pytest, has asyncio
        dear.add("asyncio")
    said = run(
        "import sys\n"
        "def test_modules():\n"
        f"    assert {{name for name in sys.modules if name.split('.')[0] in {dear}}}"
        " == {'ottla', 'ottla.testing', 'ottla.testing.plugin'}\n",
        tmp_path,
    )
    assert "1 passed" in said, said


def test_fault_that_never_fires_fails_the_test_by_name(tmp_path: Path) -> None:
    """The test itself, not what comes after it; one that failed anyway fails for its own reason."""
    said = run(
        "def test_never(kafka):\n"
        "    kafka.fault('Produce', topic='orders').answer('NOT_ENOUGH_REPLICAS').once()\n"
        "def test_may(kafka):\n"
        "    kafka.fault('Produce', may_not_fire=True).drop_answer().once()\n"
        "def test_unset(kafka):\n"
        "    kafka.fault('Produce').drop_answer()\n"
        "def test_other(kafka):\n"
        "    kafka.fault('Produce').drop_answer().once()\n"
        "    raise ValueError('for another reason')\n"
        "@pytest.fixture\n"
        "def mine():\n"
        "    from ottla.testing import Broker\n"
        "    with Broker() as broker:\n"
        "        yield broker\n"
        "def test_mine(mine):\n"
        "    mine.fault('Fetch').drop_answer().once()\n",
        tmp_path,
    )
    assert "4 failed, 1 passed" in said, said
    assert (
        "fault 1 (Produce topic=orders: answer NOT_ENOUGH_REPLICAS, once), set at test_mine.py:3, never fired" in said
    )
    assert "the fault at test_mine.py:7 does not say how often" in said
    assert "for another reason" in said
    assert "fault 1 (Fetch: drop the answer, once)" in said
