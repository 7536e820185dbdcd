"""The conformance suite's client of messages, for all tests that care about single answers."""

from ottla.conformance.client import API, Answer, Client, api_of

__all__ = ["API", "Answer", "Client", "api_of"]
