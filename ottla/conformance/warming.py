"""A fresh broker is still loading, and says so to whoever asks: nothing is compared before it is ready."""

from __future__ import annotations

from ottla.conformance.claims import Claims
from ottla.conformance.scene import PATIENCE_SECONDS, Scene
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest


def load_coordinators(
    bootstrap: str, claims: Claims | None = None, *, patience_seconds: float = PATIENCE_SECONDS
) -> None:
    """Return when every partition of the offsets topic answers for its groups, and transactions have a coordinator.

    Raises `SceneEndedError` if that takes too long, `NotClaimedError` if the broker does not serve what is asked.
    """
    scene = Scene(bootstrap, version=0, claims=claims, patience_seconds=patience_seconds)
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
