"""For unittest: a test case with a broker.

    class OrdersTest(KafkaTestCase):
        kafka_options = {"clock": "virtual"}

        def test_orders_are_counted(self):
            service = Service(bootstrap_servers=self.kafka.bootstrap_servers)
            self.kafka.group("orders").wait_for_assignment()

Beside unittest.IsolatedAsyncioTestCase it works as well: `class OrdersTest(KafkaTestCase, IsolatedAsyncioTestCase)`.
"""

from __future__ import annotations

import unittest
from collections.abc import Mapping
from typing import Any, ClassVar

from ottla.testing.broker import Broker


class KafkaTestCase(unittest.TestCase):
    """Each test has a running broker of its own, as `self.kafka`."""

    #: What the broker is made with, by the names that `Broker` has.
    kafka_options: ClassVar[Mapping[str, Any]] = {}

    kafka: Broker

    def setUp(self) -> None:
        super().setUp()
        self.kafka = self.enterContext(Broker(**self.kafka_options))
