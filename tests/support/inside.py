"""What stands behind a broker of `ottla.testing`, for tests that look at more than a user can."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.broker.lifecycle.server import Server
    from ottla.testing import Broker


def server_of(broker: Broker) -> Server:
    """The server of a broker that runs."""
    assert broker._controlled is not None, "it does not run"
    return broker._controlled.server
