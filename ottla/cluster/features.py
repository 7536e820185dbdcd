"""Features: what the nodes of a cluster have agreed to do, each at a level that clients can ask for (KIP-584).

    supported    the levels that this broker knows of a feature
    finalized    the level in use; 0: the feature is off, and no answer names it

A level that can change is a setting of the cluster, so it is stored and restored as all settings are.
`metadata.version` stays as it is, for Kafka refuses to lower it below its latest level: that would lose metadata.

Kafka: FeatureControlManager, QuorumFeatures, Feature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from ottla.cluster.refused import Refused
from ottla.protocol.errors import ErrorCode
from ottla.settings.settings import CLUSTER

if TYPE_CHECKING:
    from ottla.cluster.cluster import Cluster

METADATA_VERSION: Final = "metadata.version"
TRANSACTION_VERSION: Final = "transaction.version"


@dataclass(frozen=True, slots=True)
class Feature:
    """The levels there are, and the setting that says which one holds; None: the highest does, for good."""

    level_min: int
    level_max: int
    setting: str | None = None


class UpgradeType(IntEnum):
    """What a client expects a change of level to be. Kafka: FeatureUpdate.UpgradeType."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


_UPGRADE_TYPES: Final = frozenset(UpgradeType)

#: What Kafka 4.4 finalizes in a fresh cluster, as far as this broker serves it.
FEATURES: Final[dict[str, Feature]] = {
    METADATA_VERSION: Feature(7, 33),
    TRANSACTION_VERSION: Feature(0, 2, "ottla.transaction.version"),
}


def level_settings() -> set[str]:
    """The settings that keep levels."""
    return {feature.setting for feature in FEATURES.values() if feature.setting is not None}


def level_of(name: str, cluster: Cluster) -> int:
    """The level in use; 0 for an unknown feature."""
    feature = FEATURES.get(name)
    if feature is None:
        return 0
    return feature.level_max if feature.setting is None else int(cluster.settings[feature.setting])


def check_update(name: str, level: int, upgrade_type: int, cluster: Cluster) -> None:
    """Raise `Refused` if the feature can't get this level, or not in this way."""
    fault = _fault(name, level, upgrade_type, cluster)
    if fault is not None:
        raise Refused(ErrorCode.INVALID_UPDATE_VERSION, fault)


def change_levels(levels: Mapping[str, int], cluster: Cluster) -> None:
    """Use these levels from now on; they must have been checked. Raises `Refused` if they can't be stored."""
    texts = {
        setting: str(level)
        for name, level in levels.items()
        if (setting := FEATURES[name].setting) is not None and level != level_of(name, cluster)
    }
    if texts:
        cluster.change_settings(CLUSTER, {**cluster.settings.layer(CLUSTER), **texts})


def _fault(name: str, level: int, upgrade_type: int, cluster: Cluster) -> str | None:
    """In Kafka's order: the type, a negative level, what is supported, the direction, the feature itself."""
    current = level_of(name, cluster)
    reason = None
    if upgrade_type not in _UPGRADE_TYPES:
        reason = "The controller does not support the given upgrade type."
    elif level < 0:
        reason = "A feature version cannot be less than 0."
    elif (unsupported := _why_unsupported(name, level, cluster.controller_id)) is not None:
        reason = unsupported
    elif level < current and upgrade_type == UpgradeType.UPGRADE:
        reason = (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
            "downgrade."
        )
    elif level > current and upgrade_type != UpgradeType.UPGRADE:
        reason = "Can't downgrade to a newer version."
    elif name not in FEATURES:
        reason = f"Feature {name} not found."
    if reason is not None:
        return f"Invalid update version {level} for feature {name}. {reason}"
    if name == METADATA_VERSION and level < current:
        why = "Refusing to perform the requested downgrade because it might delete metadata information."
        if upgrade_type == UpgradeType.UNSAFE_DOWNGRADE:
            why = "Unsafe metadata downgrade is not supported in this version."
        return f"Unsupported metadata.version downgrade from {current} to {level}. {why}"
    return None


def _why_unsupported(name: str, level: int, controller_id: int) -> str | None:
    """Level 0 of an unknown feature counts as supported here."""
    feature = FEATURES.get(name, Feature(0, 0))
    if feature.level_min <= level <= feature.level_max:
        return None
    who = f"Local controller {controller_id}"
    if feature.level_max == 0:
        return f"{who} does not support this feature."
    return f"{who} only supports versions {feature.level_min}-{feature.level_max}"
