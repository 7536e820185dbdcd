"""Which protocol a group uses: what all members support, then votes, then Java's order of hashing.

"Protocol" is Kafka's word for an assignor's name: each member lists the names it supports, most liked first.
`supported_protocols` counts for each name how often members list it, so that whether a newcomer fits is a lookup.

*Candidates* are the names that count as often as there are members. Each member votes for the first candidate in its
list; the most votes win; of equals the one that a Java hash map has first. A member may list a name twice, and is
then counted twice, as in Kafka: such a name is no candidate although every member has it, and there may be none at all.

Kafka: ClassicGroup.selectProtocol, supportsProtocols, candidateProtocols; ClassicGroupMember.vote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.java_hash import hash_map_order

if TYPE_CHECKING:
    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.classic.member import Protocols


def count_in(supported: dict[str, int], protocols: Protocols) -> None:
    """Count what a member lists."""
    for protocol in protocols:
        supported[protocol.name] = supported.get(protocol.name, 0) + 1


def count_out(supported: dict[str, int], protocols: Protocols) -> None:
    """Take back what a member listed. Names that no member lists any more don't stay behind."""
    for protocol in protocols:
        supported[protocol.name] -= 1
        if not supported[protocol.name]:
            del supported[protocol.name]


def fits(group: Group, protocol_type: str, protocols: Protocols) -> bool:
    """Whether a client that supports these could be a member: with anything, if the group is Empty."""
    if group.state is GroupState.EMPTY:
        return bool(protocol_type) and bool(protocols)
    if protocol_type != group.protocol_type:
        return False
    size = len(group.members)
    supported = group.supported_protocols
    return any(supported.get(protocol.name, 0) == size for protocol in protocols)


def choose(group: Group) -> str | None:
    """The protocol for the next generation of a group that has members.

    None: there is none, because a member lists a name twice. Kafka throws an exception there.
    """
    size = len(group.members)
    candidates = {name for name, count in group.supported_protocols.items() if count == size}
    votes: dict[str, int] = {}
    for member in group.members.values():
        for protocol in member.protocols:
            if protocol.name in candidates:
                votes[protocol.name] = votes.get(protocol.name, 0) + 1
                break
        else:
            return None
    most = max(votes.values())
    winner = next(name for name in hash_map_order(votes) if votes[name] == most)
    if any(member.metadata(winner) is None for member in group.members.values()):
        return None
    return winner
