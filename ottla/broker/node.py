"""A node: what clients see as one broker of the cluster.

It has an id, an address, a share of the partitions to lead and a share of the groups to coordinate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.broker.cluster import Cluster


class Node:
    """One broker of the cluster, with the address that clients are told."""

    def __init__(self, node_id: int, cluster: Cluster) -> None:
        self.node_id = node_id
        self.cluster = cluster
        #: Where clients reach it; known for sure once its listener is open.
        self.host = ""
        self.port = 0
