"""For users' tests: a broker in a fixture or a `with` block, time under the test's control, and what happens in view.

    from ottla.testing import Broker, simulated

The `kafka` fixture is there as soon as Ottla is installed; see `ottla.testing.plugin`. For its sake every run of pytest
imports this package, so the broker itself, and asyncio, are loaded when somebody asks for them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.control.attached.controlled_broker import ControlledBroker
    from ottla.control.changes.snapshot import Snapshot, SnapshotRefused
    from ottla.control.changes.topics import ChangeRefused
    from ottla.control.faults.misuse import BadFault
    from ottla.control.faults.occurrence import Hit
    from ottla.control.state.conditions import Condition
    from ottla.control.state.deadlines import Deadline
    from ottla.control.state.groups import GroupView
    from ottla.control.state.requests import ReceivedRequest
    from ottla.control.state.timeline import Timeline
    from ottla.control.state.topics import Isolation, NoSuchTopic, PartitionView, Record, TopicView
    from ottla.control.state.transactions import TransactionView
    from ottla.control.state.waiting import NotInTime
    from ottla.coordinator.kinds.view import MemberView
    from ottla.testing.async_broker import AsyncBroker, AsyncBrokerNode
    from ottla.testing.async_kafka import AsyncKafka
    from ottla.testing.barriers import HeldRequest, Hold
    from ottla.testing.broker import Broker, BrokerNode
    from ottla.testing.case import KafkaTestCase
    from ottla.testing.faults import Fault, FaultNeverFired, Faults
    from ottla.testing.groups import AsyncGroup, Group
    from ottla.testing.simulation.simulated import Story, simulated
    from ottla.testing.simulation.simulated_broker import SimulatedBroker
    from ottla.testing.simulation.simulation import Simulation
    from ottla.testing.topics import AsyncTopic, Topic
    from ottla.testing.trace.document import Trace
    from ottla.testing.transactions import AsyncTransaction, Transaction
    from ottla.testing.waiting import Waiting
else:
    #: Where each name comes from.
    _PLACES = {
        "AsyncBroker": "ottla.testing.async_broker",
        "AsyncBrokerNode": "ottla.testing.async_broker",
        "AsyncGroup": "ottla.testing.groups",
        "AsyncKafka": "ottla.testing.async_kafka",
        "AsyncTopic": "ottla.testing.topics",
        "AsyncTransaction": "ottla.testing.transactions",
        "BadFault": "ottla.control.faults.misuse",
        "Broker": "ottla.testing.broker",
        "BrokerNode": "ottla.testing.broker",
        "ChangeRefused": "ottla.control.changes.topics",
        "Condition": "ottla.control.state.conditions",
        "ControlledBroker": "ottla.control.attached.controlled_broker",
        "Deadline": "ottla.control.state.deadlines",
        "Fault": "ottla.testing.faults",
        "FaultNeverFired": "ottla.testing.faults",
        "Faults": "ottla.testing.faults",
        "Group": "ottla.testing.groups",
        "GroupView": "ottla.control.state.groups",
        "HeldRequest": "ottla.testing.barriers",
        "Hit": "ottla.control.faults.occurrence",
        "Hold": "ottla.testing.barriers",
        "Isolation": "ottla.control.state.topics",
        "KafkaTestCase": "ottla.testing.case",
        "MemberView": "ottla.coordinator.kinds.view",
        "NoSuchTopic": "ottla.control.state.topics",
        "NotInTime": "ottla.control.state.waiting",
        "PartitionView": "ottla.control.state.topics",
        "ReceivedRequest": "ottla.control.state.requests",
        "Record": "ottla.control.state.topics",
        "SimulatedBroker": "ottla.testing.simulation.simulated_broker",
        "Simulation": "ottla.testing.simulation.simulation",
        "Snapshot": "ottla.control.changes.snapshot",
        "SnapshotRefused": "ottla.control.changes.snapshot",
        "Story": "ottla.testing.simulation.simulated",
        "Timeline": "ottla.control.state.timeline",
        "Topic": "ottla.testing.topics",
        "TopicView": "ottla.control.state.topics",
        "Trace": "ottla.testing.trace.document",
        "Transaction": "ottla.testing.transactions",
        "TransactionView": "ottla.control.state.transactions",
        "Waiting": "ottla.testing.waiting",
        "simulated": "ottla.testing.simulation.simulated",
    }

    def __getattr__(name):
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_PLACES[name]), name)


__all__ = [
    "AsyncBroker",
    "AsyncBrokerNode",
    "AsyncGroup",
    "AsyncKafka",
    "AsyncTopic",
    "AsyncTransaction",
    "BadFault",
    "Broker",
    "BrokerNode",
    "ChangeRefused",
    "Condition",
    "ControlledBroker",
    "Deadline",
    "Fault",
    "FaultNeverFired",
    "Faults",
    "Group",
    "GroupView",
    "HeldRequest",
    "Hit",
    "Hold",
    "Isolation",
    "KafkaTestCase",
    "MemberView",
    "NoSuchTopic",
    "NotInTime",
    "PartitionView",
    "ReceivedRequest",
    "Record",
    "SimulatedBroker",
    "Simulation",
    "Snapshot",
    "SnapshotRefused",
    "Story",
    "Timeline",
    "Topic",
    "TopicView",
    "Trace",
    "Transaction",
    "TransactionView",
    "Waiting",
    "simulated",
]
