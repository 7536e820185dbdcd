"""Random walks of transactional producers: see `walks`. A walk's seed stands where other scripts have a version."""

from __future__ import annotations

from random import Random
from typing import Final

from ottla.conformance.scene import Scene
from ottla.conformance.script import script
from ottla.conformance.walks import bystanders, steps
from ottla.conformance.walks.walk import Walk

WALKS: Final = 45
STEPS: Final = 24
#: So many of them without the bystanders: transactions get further then.
ALONE: Final = WALKS // 3


@script(
    versions=range(1, WALKS + 1),
    needs=(
        "offsets.topic.num.partitions",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    ),
)
def two_producers(scene: Scene, seed: int) -> None:
    """With the same transactional id or their own, on three partitions."""
    _walk(scene, seed, producers=2)


@script(
    versions=range(1, WALKS + 1),
    needs=(
        "offsets.topic.num.partitions",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    ),
)
def three_producers(scene: Scene, seed: int) -> None:
    """The same among three."""
    _walk(scene, seed, producers=3)


def _walk(scene: Scene, seed: int, *, producers: int) -> None:
    walk = Walk(scene, Random(f"{producers} producers, {seed}"), producers=producers)
    walk.take(STEPS, steps.STEPS if seed <= ALONE else {**steps.STEPS, **bystanders.STEPS})
