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

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        """`__version__`: that of the tag it was built from. Looked up when it is asked for, as that takes a while."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("ottla")
        except PackageNotFoundError:  # sources that were never installed
            return "0.0.0"
