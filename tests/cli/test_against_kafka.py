"""`ottla topics` and `ottla groups` against a real Kafka: they are for any broker, so one of them is not ours."""

from __future__ import annotations

import json

import pytest

from tests.cli.stage import commit, create, join, produce
from tests.cli.terminal import ottla
from tests.support.client import Client
from tests.support.kafka_process import kafka, missing_tools

pytestmark = pytest.mark.skipif(missing_tools() is not None, reason=str(missing_tools()))


def test_a_real_kafka_is_looked_at_just_as_well() -> None:
    """Topics, groups, members and lag, as kafka-consumer-groups.sh would tell them."""
    with (
        kafka({"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "3"}) as broker,
        Client(broker.bootstrap, client_id="ana") as client,
    ):
        create(client, "orders", 2)
        produce(client, "orders", 0, 10)
        commit(client, "simple", "orders", {1: 0})
        member_id = join(client, "billing", "orders", [0, 1])
        commit(client, "billing", "orders", {0: 7}, member_id=member_id, generation_id=1)

        def ask(*arguments: str) -> list[str]:
            ended = ottla(*arguments, "--bootstrap-server", broker.bootstrap, "--timeout", "60")
            assert (ended.returncode, ended.stderr) == (0, "")
            return ended.stdout.splitlines()

        assert [line.split()[:4] for line in ask("topics")[1:]] == [
            ["__consumer_offsets", "3", "1", "yes"],
            ["orders", "2", "1", "no"],
        ]
        assert [line.split()[:4] for line in ask("groups")[1:]] == [
            ["billing", "Stable", "consumer", "1"],
            ["simple", "Empty", "-", "0"],
        ]
        described = json.loads("\n".join(ask("groups", "describe", "billing", "--json")))
        assert [(row["committed_offset"], row["log_end_offset"], row["lag"]) for row in described["offsets"]] == [
            (7, 10, 3),
            (None, 0, None),
        ]
        assert [member["client_id"] for member in described["members"]] == ["ana"]
