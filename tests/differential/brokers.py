"""Ottla and Kafka for the comparison: started with the same settings, and warm."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ottla.conformance.scene import Scene
from ottla.conformance.settings import SETTINGS
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from tests.support.kafka_process import kafka
from tests.support.ottla_process import ottla


@contextmanager
def warm_kafka() -> Iterator[str]:
    """A Kafka with these settings, its coordinators loaded; yields its bootstrap address."""
    with kafka(SETTINGS) as broker:
        load_coordinators(broker.bootstrap)
        yield broker.bootstrap


@contextmanager
def warm_ottla() -> Iterator[str]:
    """An Ottla with the same settings."""
    with ottla({"node.id": "1", **SETTINGS}) as broker:
        load_coordinators(broker.bootstrap)
        yield broker.bootstrap


def load_coordinators(bootstrap: str) -> None:
    """Return when every partition of the offsets topic answers for its groups, and transactions have a coordinator."""
    scene = Scene(bootstrap, version=0)
    groups = [f"warm-{number}" for number in range(20)]  # enough names to meet each partition of the offsets topic

    def loaded() -> bool:
        for key_type in (0, 1):
            found = scene.stagehand.ask(FindCoordinatorRequest(key="warm", key_type=key_type), 3)
            if found.error_code != 0:
                return False
        if scene.stagehand.ask(InitProducerIdRequest(None, 1_000), 4).error_code != 0:
            return False  # the first block of producer ids is on its way
        described = scene.stagehand.ask(DescribeGroupsRequest(groups=groups), 4)
        transactions = scene.stagehand.ask(DescribeTransactionsRequest(groups), 0).transaction_states
        return all(group.error_code == 0 for group in described.groups) and all(
            transaction.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND for transaction in transactions
        )

    try:
        scene.until(loaded, what="every coordinator is loaded")
    finally:
        scene.close()
