"""Ottla, the stand-in for Apache Kafka: an asyncio broker that answers like Kafka and starts in a blink.

    ottla.protocol     bytes <-> values; generated from Kafka's own message schemas
    ottla.purgatory    waiting: delayed operations, watchers, the timing wheel, clocks
    ottla.coordinator  consumer groups: members, rebalances, committed offsets
    ottla.broker       sockets, one handler per API, topics and logs, the command line
    ottla.testing      for users' tests: a broker in a fixture, time under control
    ottla.pipeline     Spark jobs over topics, groups and journals, for any Kafka
    ottla.terminal     what commands have in common

Imports run one way: testing and broker know the coordinator, the coordinator knows purgatory and protocol.
The pipeline knows none of them.
"""

__version__ = "0.1.0"
