"""Request and response headers.

    request   api_key int16 · api_version int16 · correlation_id int32 · client_id nullable string · [tag section]
    response  correlation_id int32 · [tag section]

The tag sections are there in flexible versions, with one exception that lets every client read it: the answer to
ApiVersions never has one in its header. And in the request header client_id keeps its classic int16 length even in
flexible versions. Kafka: clients/.../requests/{RequestHeader,ResponseHeader}.java, ApiKeys.responseHeaderVersion.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from ottla.protocol.primitives import DecodeError, read_tagged_fields

API_VERSIONS_KEY: Final = 18

_FIXED_PART: Final = Struct(">hhih")
#: A frame begins with its size, without these bytes themselves.
SIZE_BYTES: Final = 4
#: Size of the frame and correlation id, without and with an empty tag section.
RESPONSE_HEADER: Final = Struct(">ii")
RESPONSE_HEADER_TAGGED: Final = Struct(">iix")
#: (frame, position) -> api_key, api_version, correlation_id, length of client_id
read_fixed_part = _FIXED_PART.unpack_from
REQUEST_FIXED_BYTES: Final = _FIXED_PART.size


def read_client_id(frame: bytes, length: int) -> tuple[str, int]:
    """The client id after the fixed part, and where it ends. A null one counts as the empty string, as in Kafka."""
    if length < 0:
        return "", REQUEST_FIXED_BYTES
    end = REQUEST_FIXED_BYTES + length
    if end > len(frame):
        raise DecodeError(f"client_id claims {length} bytes, the frame has {len(frame) - REQUEST_FIXED_BYTES} left")
    return frame[REQUEST_FIXED_BYTES:end].decode("utf-8", "replace"), end


def skip_header_tags(frame: bytes, position: int) -> int:
    """Where the body of a flexible request begins. No tag is defined for clients' headers; what is there is skipped."""
    if position < len(frame) and frame[position] == 0:
        return position + 1
    try:
        _, position = read_tagged_fields(frame, position)
    except IndexError:
        raise DecodeError("the header's tag section is cut short") from None
    return position


def has_tagged_response_header(api_key: int, flexible: bool) -> bool:
    """Has the header of this API's answers a tag section? `flexible` says whether the version is."""
    return flexible and api_key != API_VERSIONS_KEY


def encode_request_header(
    api_key: int, api_version: int, correlation_id: int, client_id: str | None, flexible: bool
) -> bytes:
    """A request header as a client writes it; for tests and tools."""
    text = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(text)
    return _FIXED_PART.pack(api_key, api_version, correlation_id, length) + text + (b"\0" if flexible else b"")
