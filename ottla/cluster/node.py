"""A node: what clients see as one broker of the cluster. It has an id, an address on each listener, perhaps a rack."""

from __future__ import annotations

from ottla.cluster.address import Address


class UnknownNode(Exception):
    """There is no such node; the text says which there are."""

    def __init__(self, node_id: int, known: list[int]) -> None:
        super().__init__(f"there is no node {node_id}; the nodes are {', '.join(map(str, known))}")


class Node:
    """One broker of the cluster, with the addresses that clients are told."""

    __slots__ = ("addresses", "listens", "node_id", "rack")

    def __init__(self, node_id: int, rack: str | None = None) -> None:
        self.node_id = node_id
        self.rack = rack
        #: By listener: where it listens, and where its clients reach it, if they are told. Known once it is open.
        self.listens: dict[str, Address] = {}
        self.addresses: dict[str, Address] = {}

    @property
    def address(self) -> Address:
        """Where clients of the first listener reach it."""
        return next(iter(self.addresses.values()))
