"""The error codes are Kafka's: number, name, and whether a client may simply try again."""

from __future__ import annotations

from kio.schema.errors import ErrorCode as KioErrorCode

from ottla.protocol.errors import ErrorCode
from tests.protocol.peers.kafka import error_codes
from tests.protocol.peers.kio import NEWER_ERROR_CODE_FIRST

OURS = {(int(code), code.name, code.retriable) for code in ErrorCode}


def test_kafka_has_the_same_error_codes(kafka_class_path: str) -> None:
    """All of `Errors`, and no other; retriable is what its exception says."""
    assert error_codes(kafka_class_path) == OURS


def test_kio_has_the_same_error_codes() -> None:
    """The same where there is no Java: kio generates its own from Kafka's source, up to its release."""
    kios = {(int(code.value), code.name.upper(), code.retriable) for code in KioErrorCode}
    assert kios == {code for code in OURS if code[0] < NEWER_ERROR_CODE_FIRST}


def test_every_error_code_has_a_sentence_for_people() -> None:
    """One sentence each, and no two the same."""
    meanings = [code.meaning for code in ErrorCode]
    assert all(" " in meaning or meaning == "Success." for meaning in meanings)
    assert all(meaning.endswith(".") for meaning in meanings)
    assert len(set(meanings)) == len(meanings)
