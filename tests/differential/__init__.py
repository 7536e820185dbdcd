"""Ottla and Kafka, held against the answers in `ottla/conformance`.

`python -m tests.differential --help` explores by hand, and records.

    brokers.py   both, started with the same settings
"""
