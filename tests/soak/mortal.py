"""A broker on disk that is killed when something particular is going on, and comes back at the same address.

What is going on is seen from outside, by the names that appear in its directory:

    Moment.COMPACTION     a cleaned segment is being written
    Moment.ROLL           a segment was begun
    Moment.DELETION       the first directory of a deleted topic is out of the way
    Moment.ANY            nothing in particular
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from enum import Enum
from pathlib import Path
from random import Random
from typing import Final

from ottla.broker.storage.disk_replacement import CLEANED
from ottla.broker.storage.disk_segment import LOG_SUFFIX
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from tests.support.backstage import Backstage
from tests.support.client import Client
from tests.support.ottla_process import OttlaProcess, ottla
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_ports

#: Within this time a broker at work has done a bit of everything.
_ANY_SECONDS_MAX: Final = 0.2
_DOOMED_PARTITIONS: Final = 30


class Moment(Enum):
    """When it is killed."""

    ANY = "any"
    COMPACTION = "compaction"
    ROLL = "roll"
    DELETION = "deletion"


class Mortal:
    """The broker; as a context manager it is running from its beginning to its end, but for moments."""

    def __init__(self, path: Path, settings: Mapping[str, str]) -> None:
        (port,) = free_ports(1)
        self.path = path
        self.bootstrap = f"127.0.0.1:{port}"
        self._settings = settings
        self._stack = ExitStack()
        self._broker: OttlaProcess
        self._doomed = (f"doomed-{number}" for number in itertools.count())
        self._topics_gone: list[str] = []

    def __enter__(self) -> Mortal:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start(self) -> None:
        arguments = ("--listen", self.bootstrap, "--data-dir", str(self.path), "--log-level", "error")
        self._broker = self._stack.enter_context(ottla(self._settings, *arguments))

    def die_and_return(self, moment: Moment, watched: str, random: Random) -> None:
        """Be killed at the next such moment, and start again. `watched`: the log that is compacted, or rolls."""
        directory = self.path / watched
        match moment:
            case Moment.ANY:
                deadline = time.monotonic() + random.uniform(0, _ANY_SECONDS_MAX)
                self._kill_when(lambda: time.monotonic() >= deadline, moment)
            case Moment.COMPACTION:
                self._kill_when(lambda: any(CLEANED in name for name in _names(directory)), moment)
            case Moment.ROLL:
                before = _segments(directory)
                self._kill_when(lambda: bool(_segments(directory) - before), moment)
            case Moment.DELETION:
                logs = self._delete_a_topic()
                self._kill_when(lambda: not logs.issubset(os.listdir(self.path)), moment)
        self._stack.close()
        self._start()
        self._check_topics()

    def _kill_when(self, holds: Callable[[], bool], moment: Moment) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < deadline, f"waited in vain for a moment of {moment.value}"
        self._broker.process.kill()
        self._broker.process.wait()

    def _delete_a_topic(self) -> set[str]:
        """Have one deleted that has records, and don't wait until it is; returns its directories."""
        topic = next(self._doomed)
        with Backstage(self.bootstrap) as backstage:
            backstage.create_topic(topic, _DOOMED_PARTITIONS)
            for partition in range(_DOOMED_PARTITIONS):
                backstage.produce(topic, partition)
        with Client(self.bootstrap) as client:
            client.send(DeleteTopicsRequest(topic_names=[topic], timeout_ms=10_000), 4)
        self._topics_gone.append(topic)
        return {f"{topic}-{partition}" for partition in range(_DOOMED_PARTITIONS)}

    def _check_topics(self) -> None:
        """A deletion that had begun is complete, and the name is free. Nothing of anybody else was set aside."""
        with Client(self.bootstrap) as client:
            known = {topic.name for topic in client.ask(MetadataRequest(topics=None), 12).topics}
            assert known.isdisjoint(self._topics_gone)
            for name in self._topics_gone[-1:]:
                again = CreateTopicsRequest.CreatableTopic(name, 1, 1)
                assert not client.ask(CreateTopicsRequest([again], 10_000), 7).topics[0].error_code
                assert (
                    not client.ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000), 4)
                    .responses[0]
                    .error_code
                )
        assert not list(self.path.glob("*-stray"))


def _segments(directory: Path) -> set[str]:
    return {name for name in _names(directory) if name.endswith(LOG_SUFFIX)}


def _names(directory: Path) -> list[str]:
    """What is in it; nothing as long as nobody has written to the log."""
    return os.listdir(directory) if directory.exists() else []
