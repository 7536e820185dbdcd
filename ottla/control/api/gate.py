"""Which requests may come in over HTTP: none that a web page made a browser send, and none without the token.

A page from anywhere can have the browser ask 127.0.0.1, too. Four headers tell such requests from a script's:

    Host           A page whose name was led to this machine after it was loaded (DNS rebinding) may read what we
                   answer, for to the browser it comes from here. But it asks for that name, which is none of ours.
    Origin         Where the page is from that asks. Browsers add it, scripts don't.
    Sec-Fetch-Site Where the page is from, relative to what it asks. Browsers add it to every request, also to those
                   without an Origin: images, scripts, links.
    Content-Type   What a page may send to strangers without asking them first is a form or text, never JSON.

A token is for machines that others reach: each request must have it. It is compared in a time that tells nothing of it.

This is policy, and nothing else: it knows no sockets, and not what is asked for, so whatever is served over HTTP can
stand behind it.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, NamedTuple, TypeAlias

from ottla.control.api.http_refused import HttpRefused

#: Names in lower case, as h11 has them.
Headers: TypeAlias = Sequence[tuple[bytes, bytes]]

_LOCALHOST: Final = "localhost"
_PORT_DEFAULT: Final = 80
#: HOST or HOST:PORT, an IPv6 host in brackets.
_AUTHORITY: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[0-9a-zA-Z._-]+)(?::([0-9]{1,5}))?")


class Authority(NamedTuple):
    """A host in the one form that is compared, and a port."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Authority | None:
        """Read it as a Host header has it; None: it is none."""
        match = _AUTHORITY.fullmatch(text)
        if match is None:
            return None
        return cls(_one_form(match[1]), int(match[2] or _PORT_DEFAULT))


class Gate:
    """Lets requests in, or refuses them."""

    def __init__(self, names: Iterable[str], token: str | None) -> None:
        """`names`: what this machine may be asked for as, besides by a name for itself such as localhost and by the
        address that the client has reached. `token`: what a client must know; None: nothing.
        """
        self._names = {_one_form(name) for name in names}
        self._token = None if token is None else token.encode()

    def check(self, method: str, headers: Headers, local_host: str) -> None:
        """Raises `HttpRefused` for a request that does not get in. `local_host`: the address it was received on."""
        host = self._check_host(headers, local_host)
        _check_origin(headers, host)
        _check_fetch_site(headers)
        self._check_token(headers)
        if method == "POST":  # all others that a page may send unasked change nothing
            _check_content_type(headers)

    def _check_host(self, headers: Headers, local_host: str) -> Authority:
        said = b", ".join(_values(headers, b"host")).decode("latin-1")
        host = Authority.parse(said)
        if host is None or not (self._is_own(host.host) or host.host == _one_form(local_host)):
            raise HttpRefused(
                HTTPStatus.FORBIDDEN,
                f"Host is {said!r}, which is no name of this broker; ask for it by its address, or by localhost",
            )
        return host

    def _is_own(self, host: str) -> bool:
        address = _address(host)
        return host in self._names or host == _LOCALHOST or (address is not None and address.is_loopback)

    def _check_token(self, headers: Headers) -> None:
        if self._token is None:
            return
        said = _values(headers, b"authorization")
        scheme, _, token = said[0].partition(b" ") if len(said) == 1 else (b"", b"", b"")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(token.strip(b" "), self._token):
            raise HttpRefused(
                HTTPStatus.UNAUTHORIZED,
                "a token is asked for here: send the header Authorization: Bearer TOKEN, with the token that the "
                "broker was given",
                {"WWW-Authenticate": "Bearer"},
            )


def _check_origin(headers: Headers, host: Authority) -> None:
    for said in _values(headers, b"origin"):
        scheme, _, authority = said.decode("latin-1").partition("://")
        if scheme.lower() != "http" or Authority.parse(authority) != host:
            raise HttpRefused(
                HTTPStatus.FORBIDDEN,
                f"Origin is {said.decode('latin-1')!r}: pages of other places are not answered",
            )


def _check_fetch_site(headers: Headers) -> None:
    """`none`: a person has typed the address or follows a bookmark."""
    for said in _values(headers, b"sec-fetch-site"):
        if said.lower() not in (b"same-origin", b"none"):
            raise HttpRefused(
                HTTPStatus.FORBIDDEN,
                f"Sec-Fetch-Site is {said.decode('latin-1')!r}: pages of other places are not answered",
            )


def _check_content_type(headers: Headers) -> None:
    said = [value.decode("latin-1") for value in _values(headers, b"content-type")]
    if [value.partition(";")[0].strip().lower() for value in said] != ["application/json"]:
        raise HttpRefused(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "what is asked with POST is JSON, and has to say so: send the header Content-Type: application/json",
        )


def _values(headers: Headers, name: bytes) -> list[bytes]:
    return [value for header, value in headers if header == name]


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _one_form(host: str) -> str:
    """One for all ways to write a host: [0:0::1] is ::1, LOCALHOST. is localhost, ::ffff:127.0.0.1 is 127.0.0.1."""
    host = host.removeprefix("[").removesuffix("]").partition("%")[0].lower().removesuffix(".")
    address = _address(host)
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address
    return host if address is None else str(address)
