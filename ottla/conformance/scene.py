"""One run of a script against one broker: its actors, its names, and the transcript of what was heard.

An actor is a connection. `ask` records the answer and returns it, so what the broker gave (a member id, an offset) is
at hand for the next request; `send` and `hear` split that in two for requests that are parked. What is said with
`quietly` only prepares the ground and is not recorded.

Two connections have no order between them, so after a `send` that parks, a script waits with `group_shows` until the
broker has taken it in before it lets anyone else speak.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ottla.conformance.claims import Claims
from ottla.conformance.client import API, Client, api_of
from ottla.conformance.transcript import NODE_ID, PRODUCER_ID_OF_SCRIPTS, Json, Labels, comparable
from ottla.conformance.wire import ConnectionClosedError, SilenceError
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.list_offsets import ListOffsetsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.primitives import Message
from ottla.protocol.registry import Api

#: How long an answer is waited for, unless told otherwise.
PATIENCE_SECONDS: Final = 5.0
#: How long a parked request is watched until we call it parked; a slow broker may look right here, never wrong.
SILENCE_SECONDS: Final = 0.1
#: A state that has to come about is waited for so many times as long as an answer.
_STATE_FACTOR: Final = 2

_run_number = itertools.count(int(time.time() * 1000) % 1_000_000_000)


class SceneEndedError(Exception):
    """The broker gave no answer where the script can't go on without; the transcript says how."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Bytes on the wire, with their size before them: whose, in which direction, at which step of the transcript."""

    step: int
    actor: str
    is_sent: bool
    data: bytes


class Scene:
    """What a script plays in. `version` is the one it is run for; `claims` are the broker's, if they count.

    `node_id`: the broker's. `patience_seconds`: how long an answer is waited for.
    """

    def __init__(
        self,
        bootstrap: str,
        version: int,
        claims: Claims | None = None,
        *,
        node_id: int = NODE_ID,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self.bootstrap = bootstrap
        self.patience_seconds = patience_seconds
        #: How the broker left an answer out without which the script could not go on, or "".
        self.unanswered = ""
        #: Whether all patience was spent on something that did not come.
        self.has_waited_in_vain = False
        self.version = version
        self.claims = claims
        self.transcript: list[Json] = []
        #: All that went over the wire, what only prepares included.
        self.frames: list[Frame] = []
        #: What takes back a change to the whole broker that is made in the middle of the script: (request, version).
        self.amends: list[tuple[Message, int]] = []
        self.labels = Labels(bootstrap.rpartition(":")[0], node_id)
        self._run = next(_run_number)
        #: Every name of this scene has this in it, and no other name does.
        self.mark = f"-{self._run}-"
        self._names: Counter[str] = Counter()
        self._clients: list[Client] = []
        self._stagehand: Client | None = None

    def name(self, stem: str, *, length: int = 0) -> str:
        """A name nobody else uses, for a group, a topic, a transactional id; the transcript shows `<stem>`.

        `length`: with at least so many characters.
        """
        number = self._names[stem] = self._names[stem] + 1
        unique = f"{stem}{self.mark}{number:02}".ljust(length, "x")
        self.labels.names[unique] = f"<{stem}>" if number == 1 else f"<{stem} {number}>"
        return unique

    def producer_id(self, label: str) -> int:
        """One that the broker never made and no other run uses; the transcript shows `<label>`."""
        producer_id = PRODUCER_ID_OF_SCRIPTS + (self._run << 8) + len(self.labels.producers)
        self.labels.producers[producer_id] = f"<{label}>"
        return producer_id

    def needs(self, *apis: str) -> None:
        """These are served in the very versions that Kafka has, or the script is not for this broker."""
        if self.claims is not None:
            self.claims.require_the_same([API[name] for name in apis])

    def needs_version(self, api: str, version: int) -> None:
        """This version is served, which is going to be asked for by bytes of the script's own."""
        if self.claims is not None:
            self.claims.require(API[api], version)

    def actor(self, name: str = "ana", *, client_id: str | None = None) -> Actor:
        """A new connection; its client id is its name unless told otherwise."""
        client = Client(
            self.bootstrap,
            client_id=name if client_id is None else client_id,
            timeout_seconds=self.patience_seconds,
            claims=self.claims,
            member_ids=None if self.claims is None else self.labels.member_ids,
            tap=lambda is_sent, data: self.frames.append(Frame(len(self.transcript), name, is_sent, data)),
        )
        self._clients.append(client)
        return Actor(self, name, client)

    def topic(self, stem: str = "topic", *, partitions: int = 1, configs: Mapping[str, str] | None = None) -> str:
        """A new topic whose partitions all have a leader."""
        name = self.name(stem)
        self.create_topic(name, partitions=partitions, configs=configs)
        return name

    def create_topic(self, name: str, *, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """As `topic`, with a name that is given."""
        request = CreateTopicsRequest(
            topics=[
                CreateTopicsRequest.CreatableTopic(
                    name=name,
                    num_partitions=partitions,
                    replication_factor=1,
                    configs=[
                        CreateTopicsRequest.CreatableTopicConfig(name=key, value=value)
                        for key, value in (configs or {}).items()
                    ],
                )
            ],
            timeout_ms=10_000,
        )
        created = self.stagehand.ask(request, 5).topics[0]
        if created.error_code != 0:
            raise SceneEndedError(f"{name} was not created: {ErrorCode(created.error_code).name}")
        self.until_topic_has_leaders(name, partitions=partitions)

    def until_topic_has_leaders(self, topic: str, *, partitions: int) -> None:
        """Wait until each of so many partitions is led, in Metadata's eyes and, which may be later, in its leader's."""
        indexes = range(partitions)
        request = ListOffsetsRequest(
            replica_id=-1,
            topics=[
                ListOffsetsRequest.ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsRequest.ListOffsetsPartition(partition_index=index, timestamp=-1)
                        for index in indexes
                    ],
                )
            ],
        )

        def ready() -> bool:
            found = self._metadata(topic).partitions
            if len(found) != partitions or any(partition.leader_id < 0 for partition in found):
                return False
            answers = self.stagehand.ask(request, 5).topics[0].partitions
            return all(partition.error_code == 0 for partition in answers)

        self.until(ready, what=f"{partitions} partitions of {topic} are led")

    def until_settled(self) -> None:
        """Wait until what the controller has decided is everywhere: a topic created now is led, so all before it is."""
        self.topic("settled")

    def delete_topic(self, topic: str) -> None:
        """Delete a topic, and wait until Metadata does not know it any more."""
        self.stagehand.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=10_000), 4)
        self.until(lambda: self._metadata(topic).error_code != 0, what=f"{topic} is gone")

    def topic_id(self, topic: str) -> bytes:
        """The id the broker gave a topic."""
        found: bytes = self._metadata(topic).topic_id
        return found

    def group_shows(self, group: str, *, state: str, members: int | None = None) -> None:
        """Wait until DescribeGroups shows `group` in this state, and with so many members."""

        def shows() -> bool:
            described = self.stagehand.ask(DescribeGroupsRequest(groups=[group]), 4).groups[0]
            return described.group_state == state and members in (None, len(described.members))

        self.until(shows, what=f"{group} is in {state} with {members} members")

    def until(self, condition: Callable[[], bool], *, what: str) -> None:
        """Poll until `condition` holds; a named condition with a bound, not a pause."""
        seconds = self.patience_seconds * _STATE_FACTOR
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                self.has_waited_in_vain = True
                raise SceneEndedError(f"waited {seconds:g} s until {what}")
            time.sleep(0.005)

    @property
    def stagehand(self) -> Client:
        """A connection of the scene's own, for all that is not part of the play."""
        if self._stagehand is None:
            self._stagehand = self.actor("stagehand").client
        return self._stagehand

    def record(self, said: str, asked: Json, heard: Json) -> None:
        """A step of the transcript: who said what, the request, and what came back."""
        self.transcript.append([said, asked, heard])

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def _metadata(self, topic: str) -> Any:
        request = MetadataRequest(
            topics=[MetadataRequest.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
        )
        return self.stagehand.ask(request, 12).topics[0]


class Actor:
    """One connection of a scene."""

    def __init__(self, scene: Scene, name: str, client: Client) -> None:
        self.name = name
        self.client = client
        self._scene = scene
        self._unheard: deque[tuple[str, Json]] = deque()

    def ask(self, request: Message, version: int | None = None) -> Any:
        """Send, record the answer, return it. `version` defaults to the scene's. Ends the scene if no answer comes."""
        self.send(request, version)
        return self.hear()

    def send(self, request: Message, version: int | None = None, *, answered: bool = True) -> None:
        """Send without waiting; `hear` takes the answers in the order of the requests."""
        said = f"{self.name} {api_of(request).name}"
        if version is None:
            version = self._scene.version
        else:
            said += f" v{version}"
        body = request.encode(version)
        as_sent = comparable(type(request).decode(body, version), self._scene.labels)
        if answered:
            self._unheard.append((said, as_sent))
        else:
            self._scene.record(said, as_sent, "no answer due")
        self.client.joins(request)
        self.client.send_body(api_of(request), version, body, answered=answered)

    def hear(self) -> Any:
        """Record the next answer and return it; ends the scene if the connection closes or nothing comes."""
        answer, missing = self._listen(self._scene.patience_seconds)
        if answer is None:
            self._scene.unanswered = missing
            raise SceneEndedError
        return answer

    def hear_and_keep(self, keep: Callable[[Any], list[Any]]) -> None:
        """Take the next answer and record only what `keep` takes out of it, in a fixed order."""
        said, asked = self._unheard.popleft()
        answer = self.client.receive(timeout_seconds=self._scene.patience_seconds).message
        kept: list[Json] = [comparable(item, self._scene.labels) for item in keep(answer)]
        self._scene.record(said, asked, sorted(kept, key=repr))

    def hear_nothing(self) -> None:
        """Record whether the broker stays silent for a moment (expected), answers, or closes the connection."""
        self._listen(SILENCE_SECONDS)

    def hear_the_end(self) -> None:
        """Record whether the broker closes the connection (expected), answers, or keeps it open without a word."""
        self._listen(self._scene.patience_seconds)

    def ask_and_keep(self, request: Message, keep: Callable[[Any], list[Any]], version: int | None = None) -> None:
        """Ask what the whole broker has, and record only what `keep` takes out of the answer."""
        self.send(request, version)
        self.hear_and_keep(keep)

    def quietly(self, request: Message, version: int) -> Any:
        """Send and return the answer, unrecorded."""
        return self.client.ask(request, version)

    def send_body(self, api: Api, version: int, body: bytes, *, answered_as: int | None = None) -> None:
        """Send a body that need not be one; `answered_as` is the answer's version if it is another."""
        self._unheard.append((f"{self.name} {api.name} v{version}", f"0x{body[:100].hex()}"))
        self.client.send_body(api, version, body, answered_as=answered_as)

    def send_bytes(self, data: bytes) -> None:
        """Put bytes on the wire that need not be a frame; `hear_the_end` follows, or `expect` if there is an answer."""
        self._unheard.append((f"{self.name} bytes", f"0x{data[:100].hex()}"))
        self.client.connection.send(data)

    def expect(self, api: Api, version: int, *, correlation_id: int) -> None:
        """Say how the answer to `send_bytes` is to be read."""
        self.client.expect(api, version, correlation_id=correlation_id)

    def _listen(self, timeout_seconds: float) -> tuple[Any, str]:
        """Record what comes within the time; returns the answer's message, or None and how there was none.

        A silent request stays due.
        """
        said, asked = self._unheard[0] if self._unheard else (self.name, None)
        try:
            if not self.client.is_due:
                frame = self.client.connection.receive_frame(timeout_seconds=timeout_seconds)
                self._scene.record(said, asked, f"answered 0x{frame.hex()}")
                return None, ""
            answer = self.client.receive(timeout_seconds=timeout_seconds)
        except ConnectionClosedError as error:
            self._scene.record(said, asked, "closed")
            return None, str(error)
        except SilenceError as error:
            self._scene.record(said, asked, "silent")
            self._scene.has_waited_in_vain |= timeout_seconds >= self._scene.patience_seconds
            return None, str(error)
        self._unheard.popleft()
        shown = comparable(answer.message, self._scene.labels)
        if not answer.canonical:
            shown["(encoding)"] = "not as our codec writes it"
        self._scene.record(said, asked, shown)
        return answer.message, ""


def run(play: Callable[[Scene, int], None], bootstrap: str, version: int) -> list[Json]:
    """Play a script for one version; the transcript, which of one that ended early goes as far as it came."""
    scene = Scene(bootstrap, version)
    perform(play, scene)
    return scene.transcript


def perform(play: Callable[[Scene, int], None], scene: Scene) -> bool:
    """Play a script in this scene, and close its connections; returns whether it came to its end."""
    try:
        play(scene, scene.version)
        return True
    except SceneEndedError as ended:
        if ended.args:
            scene.record("", None, f"ended: {scene.labels.text(str(ended))}")
    except (ConnectionClosedError, SilenceError) as error:
        scene.unanswered = str(error)
        scene.has_waited_in_vain |= isinstance(error, SilenceError)
        scene.record("", None, f"ended: {error}")
    finally:
        scene.close()
    return False
