"""What is answered where a request over HTTP is not served."""

from __future__ import annotations

from http import HTTPStatus


class Refused(Exception):
    """A request that can't be served: the HTTP status, and a sentence."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
