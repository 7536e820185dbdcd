"""The gate of what is served over HTTP, by itself: which requests come from a web page, and which know the token."""

from __future__ import annotations

import pytest

from ottla.control.api.gate import Gate
from ottla.control.api.http_refused import HttpRefused

#: A broker that listens on every interface, advertises itself as ottla:9092, and was reached on 192.168.1.5.
NAMES = ("0.0.0.0", "Ottla", "fe80::1%eth0")
REACHED = "192.168.1.5"
JSON = ("content-type", "application/json")


def status_of(method: str, *headers: tuple[str, str], token: str | None = None) -> int:
    """What a request with these headers is answered, 200 if it gets in."""
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    try:
        Gate(NAMES, token).check(method, encoded, REACHED)
    except HttpRefused as error:
        refused = error
    else:
        return 200
    assert refused.headers == ({"WWW-Authenticate": "Bearer"} if refused.status == 401 else {})
    return refused.status


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "localhost:9644", "LOCALHOST:1", "localhost.", "localhost.:80"),
        *("127.0.0.1", "127.0.0.1:9644", "127.8.9.10:65535", "[::1]", "[::1]:9644", "[0:0:0:0:0:0:0:1]:1"),
        *("[::ffff:127.0.0.1]:9644", "[::FFFF:7f00:1]"),
        *("192.168.1.5", "192.168.1.5:9644", "[::ffff:192.168.1.5]:1"),
        *("0.0.0.0:9644", "ottla:9644", "OTTLA", "[fe80::1]:9644"),
    ],
)
def test_own_addresses_and_loopback_names_get_in(host: str) -> None:
    """However they are written, with any port: one that is forwarded differs from ours."""
    assert status_of("GET", ("host", host)) == 200


@pytest.mark.parametrize(
    "host",
    [
        *(
            "evil.example",
            "evil.example:9644",
            "localhost.evil.example",
            "evil-localhost",
            "127.0.0.1.evil.example:9644",
        ),
        *("192.168.1.6", "192.168.1.5.evil.example", "128.0.0.1", "[::2]:9644", "[fe80::2]", "::1", "[::1", "1"),
        *("", ":9644", "localhost:", "localhost:x", "localhost:123456", "user@localhost", "localhost/", "localhost "),
        *("evil.example, localhost", "localhost, localhost", "ottla.evil.example", "l\xf6calhost", "\x7f"),
    ],
)
def test_a_name_that_was_led_here_does_not_get_in(host: str) -> None:
    """DNS rebinding: the page asks for its own name, which leads to this machine by now."""
    assert status_of("GET", ("host", host)) == 403


def test_one_host_is_needed() -> None:
    """HTTP/1.0 knows of none, and two may mean anything."""
    assert status_of("GET") == 403
    assert status_of("GET", ("host", "localhost"), ("host", "localhost")) == 403


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:9644", 200),
        ("HTTP://LocalHost:9644", 200),
        ("null", 403),
        ("", 403),
        ("http://evil.example", 403),
        ("http://localhost", 403),
        ("http://localhost:3000", 403),
        ("http://127.0.0.1:9644", 403),
        ("https://localhost:9644", 403),
        ("http://localhost:9644/", 403),
        ("localhost:9644", 403),
        ("chrome-extension://localhost:9644", 403),
    ],
)
def test_pages_of_other_places_do_not_get_in(method: str, origin: str, status: int) -> None:
    """Another port of this machine is another place: what else serves pages there is not we."""
    assert status_of(method, ("host", "localhost:9644"), ("origin", origin), JSON) == status


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("site", "status"),
    [("same-origin", 200), ("none", 200), ("cross-site", 403), ("same-site", 403), ("Cross-Site", 403), ("", 403)],
)
def test_images_and_scripts_of_other_pages_do_not_get_in(method: str, site: str, status: int) -> None:
    """Browsers send no Origin with `<img src=...>`; but they say where the page is from."""
    assert status_of(method, ("host", "localhost:9644"), ("sec-fetch-site", site), JSON) == status


def test_every_origin_counts() -> None:
    """A second one doesn't hide behind the first."""
    own, foreign = ("origin", "http://localhost"), ("origin", "http://evil.example")
    assert status_of("GET", ("host", "localhost"), own) == 200
    assert status_of("GET", ("host", "localhost:80"), own) == 200
    assert status_of("GET", ("host", "localhost"), own, foreign) == 403


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (["application/json"], 200),
        (["Application/JSON; charset=utf-8"], 200),
        ([], 415),
        ([""], 415),
        (["text/plain"], 415),
        (["application/x-www-form-urlencoded"], 415),
        (["multipart/form-data; boundary=application/json"], 415),
        (["text/plain; application/json"], 415),
        (["application/json, text/plain"], 415),
        (["application/json", "text/plain"], 415),
        (["application/jsonx"], 415),
    ],
    ids=str,
)
def test_what_is_posted_says_that_it_is_json(said: list[str], status: int) -> None:
    """A page may send forms and text to strangers; for JSON the browser asks them first. GET changes nothing."""
    headers = [("host", "localhost"), *(("content-type", value) for value in said)]
    assert status_of("POST", *headers) == status
    assert status_of("GET", *headers) == 200


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (["Bearer s3cret"], 200),
        (["bearer  s3cret "], 200),
        ([], 401),
        ([""], 401),
        (["s3cret"], 401),
        (["Bearer"], 401),
        (["Bearer "], 401),
        (["Bearer s3cre"], 401),
        (["Bearer s3cret2"], 401),
        (["Bearer S3CRET"], 401),
        (["Basic s3cret"], 401),
        (["Bearer s\xe9cret"], 401),
        (["Bearer s3cret", "Bearer s3cret"], 401),
    ],
    ids=str,
)
def test_who_has_to_know_a_token_says_it(said: list[str], status: int) -> None:
    """For everything that is asked; the head of the answer says what is missing."""
    headers = [("host", "localhost"), JSON, *(("authorization", value) for value in said)]
    for method in ("GET", "POST"):
        assert status_of(method, *headers, token="s3cret") == status
        assert status_of(method, *headers) == 200


def test_a_page_that_knows_the_token_is_still_a_page() -> None:
    """The token opens no other door."""
    known = ("authorization", "Bearer s3cret")
    assert status_of("GET", ("host", "evil.example"), known, token="s3cret") == 403
    assert status_of("GET", ("host", "localhost"), ("origin", "null"), known, token="s3cret") == 403
    assert status_of("POST", ("host", "localhost"), known, token="s3cret") == 415
