"""What is answered where a request over HTTP is not served."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus


class HttpRefused(Exception):
    """A request that can't be served: the HTTP status, a sentence, and what else the head of the answer has to say."""

    def __init__(self, status: HTTPStatus, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = headers or {}
