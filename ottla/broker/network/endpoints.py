"""Listeners as people write them: by name, where nodes listen, and what clients of that listener are told.

    --listen INTERNAL://0.0.0.0:9092 --listen HOST://127.0.0.1:29092      listeners=INTERNAL://0.0.0.0:9092,HOST://…
    --advertise INTERNAL://broker:9092                                    advertised.listeners=INTERNAL://broker:9092,…

A client is told the addresses of the listener it has connected to, so containers and programs on the host can use one
broker at the same time. Without a name a listener is called PLAINTEXT. Node i has port + i of each address.

The options win over the settings: with `--listen` both settings count for nothing, and `--advertise` replaces what is
advertised of the listener it names. A listener that advertised.listeners leaves out is open, and its clients are told
of nobody, as in Kafka. Listeners of controller.listener.names are left out: here is no controller to talk to.

Kafka: AbstractKafkaConfig.listenerListToEndPoints, KafkaConfig.validateValues, ListenerInfo.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ottla.cluster.address import PORT_MAX, Address
from ottla.settings.settings import ConfigError

if TYPE_CHECKING:
    from ottla.settings.settings import Settings

#: The name of a listener that is given without one.
DEFAULT_NAME: Final = "PLAINTEXT"
DEFAULT_LISTEN: Final = "127.0.0.1:9092"
#: Every client connects to every node.
NODES_MAX: Final = 100

_PLAINTEXT: Final = "PLAINTEXT"
_PROTOCOLS: Final = (_PLAINTEXT, "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MAP: Final = "listener.security.protocol.map"

#: [NAME[:PROTOCOL]://]HOST:PORT
_OPTION: Final = r"(?:([\w.-]+)(?::(\w+))?://)?(.*)"
#: Kafka: SocketServerConfigs.URI_PARSE_REGEXP. The host may be empty.
_URI: Final = r"([\w.-]+)://\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]{1,5})"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A listener that every node has. `option`: what it was given by, for messages."""

    name: str
    #: The first node's; a host of "" stands for every interface.
    listen: Address
    #: The first node's; with port 0, the port it listens on. None: clients are told of nobody.
    advertise: Address | None
    option: str = "--listen"

    @property
    def advertise_option(self) -> str:
        """What `advertise` may be given by."""
        return "--advertise" if self.option == "--listen" else "advertised.listeners"


def read_endpoints(
    settings: Settings, listen: Sequence[str] = (), advertise: Sequence[str] = (), default: str = DEFAULT_LISTEN
) -> list[Endpoint]:
    """The listeners that options and settings ask for, the first being the one that is shown first.

    `listen` and `advertise` are what the options say, `default` what holds if nothing says where to listen. The
    protocols of listeners that have been named by `--listen` are added to listener.security.protocol.map, for those
    who look. Raises `ConfigError`.
    """
    given = settings.given.get("listeners")
    if listen or given is None:
        endpoints = _from_options(listen or (default,), settings)
    else:
        endpoints = _from_setting(given, settings)
    if not listen:
        endpoints = _advertised_by_setting(endpoints, settings)
    endpoints = _advertised_by_options(endpoints, advertise)
    _check_advertised(endpoints)
    _check_inter_broker(endpoints, settings)
    return endpoints


def check_ports(endpoints: Iterable[Endpoint], node_count: int) -> None:
    """Whether so many nodes have ports of their own on every listener.

    Raises `ConfigError`.
    """
    if not 1 <= node_count <= NODES_MAX:
        raise ConfigError(
            f"--nodes {node_count} is not from 1 to {NODES_MAX}; each is a socket every client connects to"
        )
    before: list[Endpoint] = []
    for endpoint in endpoints:
        for option, address in ((endpoint.option, endpoint.listen), (endpoint.advertise_option, endpoint.advertise)):
            if address is not None and address.port + node_count - 1 > PORT_MAX:
                raise ConfigError(
                    f"--nodes {node_count} with {option} {address} goes beyond port {PORT_MAX}, for node i has "
                    f"port + i; choose a port up to {PORT_MAX - node_count + 1}, or fewer nodes"
                )
        for other in before:
            if _meet(endpoint.listen, other.listen, node_count):
                raise ConfigError(_ports_meet(endpoint, other, node_count))
        before.append(endpoint)


def _meet(one: Address, other: Address, node_count: int) -> bool:
    """Whether nodes would need the same port for both. An IPv4 and an IPv6 address may share one, as in Kafka."""
    if not one.port or not other.port or abs(one.port - other.port) >= node_count:
        return False
    return {one.ip_version, other.ip_version} != {4, 6}


def _ports_meet(endpoint: Endpoint, other: Endpoint, node_count: int) -> str:
    shown = f"{endpoint.option} {endpoint.name}://{endpoint.listen}"
    if endpoint.listen.port == other.listen.port:
        return f"{shown}: {other.name} has that port already; each listener needs one of its own"
    return (
        f"{shown} is too near to {other.name}://{other.listen}: node i listens on port + i, so with --nodes "
        f"{node_count} the ports of two listeners must be {node_count} apart"
    )


# --- where to listen ---


def _from_options(listen: Sequence[str], settings: Settings) -> list[Endpoint]:
    protocols = _protocols(settings)
    named: dict[str, str] = {}
    endpoints = []
    for text in listen:
        name, protocol, address = _read_option(text, "--listen")
        name = name or DEFAULT_NAME
        if protocol is None:
            protocol = protocols.get(name, _PLAINTEXT)
        _check_protocol(protocol, f"--listen {text}", f"--listen {name}:{_PLAINTEXT}://{address}")
        if name not in protocols:
            named[name] = protocol
        endpoints.append(Endpoint(name, address, address))
    _check_names(endpoints)
    if named:
        known = settings.given_texts.get(_MAP) or ",".join(f"{name}:{of}" for name, of in protocols.items())
        settings.set(_MAP, ",".join([*(f"{name}:{of}" for name, of in named.items()), known]))
    return endpoints


def _from_setting(listeners: Sequence[str], settings: Settings) -> list[Endpoint]:
    protocols = _protocols(settings)
    endpoints = []
    for name, address in _read_uris("listeners", _of_brokers(listeners, settings)):
        shown = f"listeners={name}://{address}"
        if name not in protocols:
            raise ConfigError(f"{shown}: nothing says what protocol {name} has; add {name}:{_PLAINTEXT} to {_MAP}")
        _check_protocol(protocols[name], shown, f"{name}:{_PLAINTEXT} in {_MAP}")
        endpoints.append(Endpoint(name, address, address, "listeners"))
    if not endpoints:
        raise ConfigError(
            f"listeners={','.join(listeners)} leaves nowhere to listen; name a listener that is not in "
            "controller.listener.names, for example PLAINTEXT://127.0.0.1:9092"
        )
    _check_names(endpoints)
    return endpoints


def _protocols(settings: Settings) -> dict[str, str]:
    """The protocol of each listener, by its name, as listener.security.protocol.map says."""
    protocols: dict[str, str] = {}
    text: str = settings[_MAP]
    for entry in text.split(",") if text.strip() else ():
        name, colon, protocol = entry.strip().rpartition(":")
        if not colon or not name:
            raise ConfigError(f"{_MAP}: {entry.strip()!r} is not NAME:PROTOCOL; write for example HOST:{_PLAINTEXT}")
        if protocol.upper() not in _PROTOCOLS:
            raise ConfigError(f"{_MAP}: {entry.strip()}: there is no protocol {protocol}; write {name}:{_PLAINTEXT}")
        protocols[name.strip().upper()] = protocol.upper()
    return protocols


def _check_protocol(protocol: str, shown: str, instead: str) -> None:
    if protocol not in _PROTOCOLS:
        raise ConfigError(f"{shown}: there is no protocol {protocol}; write {instead}")
    if protocol != _PLAINTEXT:
        raise ConfigError(f"{shown}: {protocol} is not served, only {_PLAINTEXT}; write {instead}")


def _check_names(endpoints: Sequence[Endpoint]) -> None:
    names = [endpoint.name for endpoint in endpoints]
    for endpoint in endpoints:
        if names.count(endpoint.name) > 1:
            option = endpoint.option
            raise ConfigError(
                f"{option}: two listeners are called {endpoint.name}; name each, for example "
                + ("--listen HOST://127.0.0.1:29092" if option == "--listen" else "listeners=HOST://127.0.0.1:29092")
            )


# --- what clients are told ---


def _advertised_by_setting(endpoints: Sequence[Endpoint], settings: Settings) -> list[Endpoint]:
    given = settings.given.get("advertised.listeners")
    if given is None:
        return [_reachable(endpoint) for endpoint in endpoints]
    addresses: dict[str, Address] = {}
    for name, address in _read_uris("advertised.listeners", _of_brokers(given, settings)):
        if name in addresses:
            raise ConfigError(f"advertised.listeners has {name} twice; leave one of them out")
        addresses[name] = address if address.host else Address(_own_name(), address.port)
        _check_reachable(addresses[name], "advertised.listeners")
    _check_known(addresses, endpoints, "advertised.listeners")
    return [replace(endpoint, advertise=addresses.get(endpoint.name)) for endpoint in endpoints]


def _reachable(endpoint: Endpoint) -> Endpoint:
    """With the machine's own name where the setting has no host. Kafka: ListenerInfo.withWildcardHostnamesResolved."""
    if endpoint.listen.host:
        return endpoint
    return replace(endpoint, advertise=Address(_own_name(), endpoint.listen.port))


def _advertised_by_options(endpoints: Sequence[Endpoint], advertise: Sequence[str]) -> list[Endpoint]:
    addresses: dict[str, Address] = {}
    for text in advertise:
        name, protocol, address = _read_option(text, "--advertise")
        if protocol is not None:
            raise ConfigError(f"--advertise {text} names a protocol; write --advertise {name}://{address}")
        name = name or (endpoints[0].name if len(endpoints) == 1 else DEFAULT_NAME)
        if name in addresses:
            raise ConfigError(f"--advertise {text}: what {name} advertises is said twice; leave one of them out")
        addresses[name] = address
        _check_reachable(address, "--advertise")
    _check_known(addresses, endpoints, "--advertise")
    return [replace(endpoint, advertise=addresses.get(endpoint.name, endpoint.advertise)) for endpoint in endpoints]


def _check_known(addresses: Mapping[str, Address], endpoints: Sequence[Endpoint], option: str) -> None:
    known = [endpoint.name for endpoint in endpoints]
    for name in addresses:
        if name not in known:
            raise ConfigError(
                f"{option} {name}://{addresses[name]}: there is no listener {name}; the listeners are "
                f"{', '.join(known)}"
            )


def _check_reachable(address: Address, option: str) -> None:
    if address.is_wildcard:
        raise ConfigError(f"{option} {address} is no address to come back to; name one that clients reach")


def _check_advertised(endpoints: Sequence[Endpoint]) -> None:
    if all(endpoint.advertise is None for endpoint in endpoints):
        raise ConfigError("advertised.listeners has no listener for clients; name at least one of listeners")
    for endpoint in endpoints:
        if endpoint.advertise is not None and endpoint.advertise.is_wildcard:
            listen = endpoint.listen
            prefix = "" if endpoint.name == DEFAULT_NAME else f"{endpoint.name}://"
            raise ConfigError(
                f"{endpoint.option} {prefix}{listen} accepts on every interface, but clients need one name to come "
                f"back to; add for example --advertise {prefix}localhost:{listen.port or 9092}"
            )


def _check_inter_broker(endpoints: Sequence[Endpoint], settings: Settings) -> None:
    """Nodes share one process and need no connections to each other; the name only has to be right."""
    name: str | None = settings["inter.broker.listener.name"]
    advertised = [endpoint.name for endpoint in endpoints if endpoint.advertise is not None]
    if name is not None and name.upper() not in advertised:
        raise ConfigError(
            f"inter.broker.listener.name={name} is no listener that is advertised; those are {', '.join(advertised)}"
        )


# --- as it is written ---


def _read_option(text: str, option: str) -> tuple[str, str | None, Address]:
    """(name or "", protocol or None, address) of [NAME[:PROTOCOL]://]HOST:PORT."""
    match = re.fullmatch(_OPTION, text, re.ASCII | re.DOTALL)
    assert match is not None, "it takes every text"
    name, protocol, address = match.groups()
    return (name or "").upper(), protocol and protocol.upper(), Address.parse(address, option)


def _read_uris(setting: str, uris: Iterable[str]) -> Iterable[tuple[str, Address]]:
    for uri in uris:
        match = re.fullmatch(_URI, uri, re.ASCII)
        if match is None or int(match[3]) > PORT_MAX:
            raise ConfigError(
                f"{setting}: {uri} is not NAME://HOST:PORT; write for example {setting}=PLAINTEXT://127.0.0.1:9092"
            )
        yield match[1].upper(), Address(match[2], int(match[3]))


def _of_brokers(uris: Iterable[str], settings: Settings) -> list[str]:
    """Without the listeners of controllers."""
    of_controllers = {name.upper() for name in settings["controller.listener.names"] or ()}
    return [uri for uri in uris if uri.partition(":")[0].upper() not in of_controllers]


def _own_name() -> str:
    """What this machine calls itself to others."""
    import socket

    return socket.getfqdn()
