"""Request and response headers: where the body begins, and the one exception."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_request_schema, load_response_schema

from ottla.protocol.headers import (
    REQUEST_FIXED_BYTES,
    RESPONSE_HEADER,
    RESPONSE_HEADER_TAGGED,
    encode_request_header,
    has_tagged_response_header,
    read_client_id,
    read_fixed_part,
    skip_header_tags,
)
from ottla.protocol.messages.request_header import RequestHeader
from ottla.protocol.messages.response_header import ResponseHeader
from ottla.protocol.primitives import DecodeError
from ottla.protocol.registry import Api, all_apis
from tests.protocol.peers import kio
from tests.protocol.strategies import messages

every_api = pytest.mark.parametrize("api", [api for api in all_apis() if api.module], ids=lambda api: api.name)


@pytest.mark.parametrize("header_version", [1, 2])
@given(data=st.data())
def test_a_request_header_is_read_up_to_its_last_byte(header_version: int, data: st.DataObject) -> None:
    """Key, version, correlation id and client id as sent, tags skipped, and the body begins right behind."""
    header = data.draw(messages(RequestHeader, header_version))
    assert isinstance(header, RequestHeader)
    frame = header.encode(header_version) + b"body"
    *fixed, client_id_length = read_fixed_part(frame)
    assert fixed == [header.request_api_key, header.request_api_version, header.correlation_id]
    client_id, position = read_client_id(frame, client_id_length)
    assert client_id == (header.client_id or "")  # Kafka takes null for the empty string
    if header_version == 2:
        position = skip_header_tags(frame, position)
    assert frame[position:] == b"body"


@given(client_id=st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=20), flexible=st.booleans())
def test_a_request_header_is_written_as_the_schema_says(client_id: str | None, flexible: bool) -> None:
    """Version 2 for flexible requests has a tag section, but the client id is not compact in either."""
    expected = RequestHeader(12, 4, 7, client_id).encode(2 if flexible else 1)
    assert encode_request_header(12, 4, 7, client_id, flexible) == expected


@every_api
def test_headers_have_tag_sections_where_kio_says(api: Api) -> None:
    """In flexible versions, requests and answers both; only the answer to ApiVersions never has one."""
    for version in api.request.READERS:
        if (api.name, version) in kio.NEWER:
            continue
        flexible = api.is_flexible(version)
        request_header = load_request_schema(api.key, version).__header_schema__
        response_header = load_response_schema(api.key, version).__header_schema__
        assert request_header.__version__ == (2 if flexible else 1)
        assert response_header.__version__ == int(has_tagged_response_header(api.key, flexible))


def test_the_answer_to_api_versions_can_be_read_by_who_knows_nothing_yet() -> None:
    """Whatever version was asked for: correlation id, then the body."""
    assert not has_tagged_response_header(18, flexible=True)
    assert has_tagged_response_header(12, flexible=True)


@pytest.mark.parametrize("correlation_id", [0, 1, -1, 2**31 - 1, -(2**31)])
def test_response_headers_are_written_as_the_schema_says(correlation_id: int) -> None:
    """Behind the frame's size: the correlation id, and in version 1 an empty tag section."""
    header = ResponseHeader(correlation_id)
    assert RESPONSE_HEADER.pack(99, correlation_id) == struct.pack(">i", 99) + header.encode(0)
    assert RESPONSE_HEADER_TAGGED.pack(99, correlation_id) == struct.pack(">i", 99) + header.encode(1)


def test_a_client_id_longer_than_the_frame_is_refused() -> None:
    """The text says how much is there."""
    frame = encode_request_header(12, 0, 1, "client", flexible=False)[:-1]
    with pytest.raises(DecodeError, match="claims 6 bytes, the frame has 5"):
        read_client_id(frame, 6)


@pytest.mark.parametrize("tags", [b"", b"\1", b"\1\0", b"\1\0\2x", b"\xff" * 9], ids=lambda tags: tags.hex() or "none")
def test_a_broken_tag_section_is_refused(tags: bytes) -> None:
    """Cut short, longer than the frame, or a varint without end."""
    frame = encode_request_header(12, 4, 1, "c", flexible=False) + tags
    with pytest.raises(DecodeError):
        skip_header_tags(frame, REQUEST_FIXED_BYTES + 1)


@given(st.binary(max_size=40))
def test_any_bytes_have_a_header_or_are_refused(frame: bytes) -> None:
    """`DecodeError`, or `struct.error` where not even the fixed part is there."""
    try:
        *_, client_id_length = read_fixed_part(frame)
        _, position = read_client_id(frame, client_id_length)
        assert REQUEST_FIXED_BYTES <= position <= len(frame)
        assert position < skip_header_tags(frame, position) <= len(frame)
    except (DecodeError, struct.error):
        pass
