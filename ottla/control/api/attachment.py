"""`--control`: the HTTP API, attached to a broker.

Its port is bound before those of the nodes, so the ready line can name it; it accepts after them. Without a token only
programs of this machine get in.
"""

from __future__ import annotations

from socket import gethostname
from typing import TYPE_CHECKING

from ottla.broker.lifecycle.attachment import Attachment
from ottla.cluster.address import Address
from ottla.control.api.control import Control
from ottla.control.api.gate import Gate
from ottla.control.api.http import ControlListener
from ottla.settings.settings import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ottla.broker.network.endpoints import Endpoint
    from ottla.control.attached.controlled_broker import ControlledBroker


class ControlApi(Attachment):
    """The control API of one broker."""

    def __init__(self, broker: ControlledBroker, address: Address, token: str | None = None) -> None:
        """`token`: what scripts must send; None: nothing. Raises `ConfigError` if a node has the port."""
        _check_port(address, broker.server.endpoints, broker.server.node_count)
        self._broker = broker
        self._address = address
        self._token = token

    async def bind(self) -> None:
        """Bind its socket. Raises `MachineRefused`, and `ConfigError` if other machines would need no token."""
        server, address = self._broker.server, self._address
        gate = Gate(_own_names(address, server.endpoints), self._token)
        listener = ControlListener(Control(self._broker), gate, server.parts.tasks, server.events)
        try:
            port = await listener.open(address.host, address.port)
        except OSError as error:
            raise address.refused("--control", error) from None
        if self._token is None and not listener.is_for_this_machine:
            listener.stop_accepting()
            raise ConfigError(
                f"--control {address} lets other machines in, and there they need a token; add --control-token-file "
                f"FILE, or listen with --control 127.0.0.1:{address.port}"
            )
        server.sockets.add(listener, "--control", address)
        self._broker.control_url = f"http://{Address(address.host, port)}"


def _check_port(control: Address, endpoints: Iterable[Endpoint], node_count: int) -> None:
    for endpoint in endpoints:
        if _needs_socket_of(control, endpoint.listen, node_count):
            raise ConfigError(
                f"--control {control}: the listener {endpoint.name} has that port already; choose another one; "
                "port 0: any free one"
            )


def _needs_socket_of(control: Address, listen: Address, node_count: int) -> bool:
    """Whether the control API would need the very socket of a node's listener."""
    if not (control.port and listen.port) or not 0 <= control.port - listen.port < node_count:
        return False
    if control.host == listen.host:
        return True
    return (control.is_wildcard or listen.is_wildcard) and {control.ip_version, listen.ip_version} != {4, 6}


def _own_names(control: Address, endpoints: Iterable[Endpoint]) -> list[str]:
    """The names of this machine that may stand in a request's Host header."""
    told = [
        address.host
        for endpoint in endpoints
        for address in (endpoint.listen, endpoint.advertise)
        if address is not None and not address.is_wildcard
    ]
    return [control.host, gethostname(), *told]
