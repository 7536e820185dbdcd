"""One walk: who takes part, what there is to choose from, and so many steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final, TypeAlias, TypeVar

from ottla.conformance.cast import Member, completing_group, preparing_group, stable_group
from ottla.conformance.partitions import Topic, absent_topic, new_topic
from ottla.conformance.producer import Producer
from ottla.conformance.scene import Scene
from ottla.conformance.settings import SETTINGS
from ottla.conformance.walks.onlooker import Onlooker

Choice = TypeVar("Choice")
Who: TypeAlias = tuple[int, int]

_OFFSETS_PARTITIONS: Final = int(SETTINGS["offsets.topic.num.partitions"])
NAMES: Final = ("ana", "bo", "cleo")
EPOCHS: Final = (-32_768, -2, -1, 0, 1, 7, 32_765, 32_766, 32_767)


class Walk:
    """The stage of one walk. All that is drawn is drawn from `rng`."""

    def __init__(self, scene: Scene, rng: Random, *, producers: int) -> None:
        self.scene = scene
        self.rng = rng
        self.topics = [(new_topic(scene, partitions=2), 2), (new_topic(scene, "other"), 1)]
        self.absent = absent_topic(scene)
        self.groups = [self._group_of(partition) for partition in range(2)]
        self.stranger = scene.producer_id("stranger")
        self.unknown_group = self._group_of(2)
        self.member = Member(scene, self.groups[1], "member")
        self._prepare_group()
        self.producers = [Producer(scene, name=NAMES[0])]
        for name in NAMES[1:producers]:
            known = [producer.transactional_id for producer in self.producers]
            shared = rng.choice(known) if self.chance(0.5) else None
            self.producers.append(Producer(scene, shared, name))
        #: Does it use transactions as they are since KIP-890? Mostly, then.
        self.is_new = {producer.actor.name: self.chance(0.5) for producer in self.producers}
        self.transactional_ids = sorted({producer.transactional_id for producer in self.producers})
        self.onlooker = Onlooker(scene, self.transactional_ids, self.topics, self.groups)

    def take(self, steps: int, vocabulary: Mapping[Callable[[Walk, Producer], None], int]) -> None:
        """Each step by one producer, then a look at what everybody sees."""
        for producer in self.producers:
            if self.chance(0.8):
                producer.begin()
        self.onlooker.look()
        kinds, weights = list(vocabulary), list(vocabulary.values())
        for _ in range(steps):
            (step,) = self.rng.choices(kinds, weights)
            step(self, self.pick(self.producers))
            self.onlooker.look()

    # ── Choices ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, choices: Sequence[Choice]) -> Choice:
        return self.rng.choice(choices)

    def mostly(self, usual: Choice, others: Sequence[Choice], *, usually: float = 0.8) -> Choice:
        """Mostly the first, else one of the others."""
        return usual if self.chance(usually) else self.pick(others)

    def version(self, producer: Producer, old: Sequence[int], new: Sequence[int]) -> int:
        """Of a request, as suits the producer, mostly."""
        is_new = self.is_new[producer.actor.name] != self.chance(0.1)
        return self.pick(new if is_new else old)

    def who(self, producer: Producer, *, usually: float = 0.85) -> Who:
        """As whom a request is sent: mostly as it is; else with another epoch, as another producer, as nobody."""
        true = producer.producer_id, producer.producer_epoch
        if self.chance(usually):
            return true
        other = self.pick(self.producers)
        return self.pick(
            [
                (true[0], max(-1, true[1] - 1)),
                (true[0], min(32_767, true[1] + 1)),
                (true[0], self.pick(EPOCHS)),
                (other.producer_id, other.producer_epoch),
                (self.stranger, 0),
                (-1, -1),
            ]
        )

    def topic(self, *, absent: float = 0.05) -> tuple[Topic, int]:
        """A topic and one of its partitions; now and then one that is not there."""
        if self.chance(absent):
            return self.absent, 0
        topic, count = self.pick(self.topics)
        return topic, self.rng.randrange(count) if self.chance(1 - absent) else self.pick((count, -1))

    def group(self) -> str:
        return self.mostly(self.pick(self.groups), [self.unknown_group], usually=0.95)

    def group_or_none(self) -> str:
        """One that may have no name. It would be the same in all walks, so nothing is to be done to it."""
        return self.mostly(self.group(), [""], usually=0.97)

    # ── Groups ───────────────────────────────────────────────────────────────────────────────────────

    def _group_of(self, partition: int) -> str:
        """A name for a group that this partition of `__consumer_offsets` has."""
        while True:
            group = self.scene.name("name")
            if _partition_of(group) == partition:
                self.scene.labels.names[group] = f"<group {partition}>"
                return group

    def _prepare_group(self) -> None:
        """Bring the second group to some state."""
        situation = self.pick(["nobody", "stable", "completing", "preparing", "left"])
        if situation == "completing":
            completing_group(self.scene, self.member)
        elif situation == "preparing":
            preparing_group(self.scene, self.member)
        elif situation in ("stable", "left"):
            stable_group(self.scene, self.member)
        if situation == "left":
            self.member.actor.quietly(self.member.leave(), 3)


def _partition_of(group: str) -> int:
    """Which partition of `__consumer_offsets` has a group: by Java's `hashCode` of its name, which is in ASCII."""
    value = 0
    for unit in group.encode("ascii"):
        value = (31 * value + unit) & 0xFFFFFFFF
    return min(value, 0x100000000 - value) % 0x80000000 % _OFFSETS_PARTITIONS
