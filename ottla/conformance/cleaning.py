"""Taking away what scripts have made: open transactions, members, groups, topics, configs, known by their names.

Transactional ids stay: Kafka has no request that deletes one, and forgets it after `transactional.id.expiration.ms`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from ottla.conformance.claims import Claims
from ottla.conformance.client import API, Client, api_of
from ottla.conformance.scene import Scene
from ottla.conformance.wire import SilenceError
from ottla.protocol.messages.delete_groups import DeleteGroupsRequest
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from ottla.protocol.messages.describe_configs import DescribeConfigsRequest
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.leave_group import LeaveGroupRequest
from ottla.protocol.messages.list_config_resources import ListConfigResourcesRequest
from ottla.protocol.messages.list_groups import ListGroupsRequest
from ottla.protocol.messages.list_transactions import ListTransactionsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.primitives import Message
from ottla.protocol.registry import Api

_METRICS, _GROUP = 16, 32
_DELETE: Final = 1
_STATIC_BROKER, _DEFAULT = 4, 5
_NAME_MAX: Final = 60
#: Longer than the members of scripts let others wait.
_REBALANCE_SECONDS_MAX: Final = 25.0
_LOOK_SECONDS: Final = 0.2


class Broom:
    """Cleans behind scenes, over a connection of its own. What the broker once kept silent about is not asked again."""

    def __init__(self, bootstrap: str, claims: Claims, *, patience_seconds: float) -> None:
        self._bootstrap = bootstrap
        self._claims = claims
        self._patience_seconds = patience_seconds
        self._silent_about: set[Api] = set()

    def sweep(self, scene: Scene, *, is_broken_off: bool, has_set_configs: bool) -> None:
        """Take away what a scene has made; if it was broken off, what it has changed of the broker too."""
        with self._connected() as client:
            for request, version in scene.amends if is_broken_off else ():
                self._ask(client, request, version)
            self._end_transactions(client, scene.mark)
            self._delete_groups(client, scene.mark, set(scene.labels.names))
            self._delete_topics(client, scene.mark)
            if has_set_configs:
                self._delete_configs(client, scene.mark)

    def finish(self, marks: set[str]) -> list[str]:
        """Try again to remove what is left of scenes with these marks, as long as a rebalance may take.

        Returns what is still there then, and why, a line each. A group that waits for members who have gone can only be
        deleted when it has done so.
        """
        deadline = time.monotonic() + _REBALANCE_SECONDS_MAX
        while True:
            with self._connected() as client:
                groups = _marked(self._groups(client, "-"), marks)
                topics = _marked(self._topics(client, "-"), marks)
                if (not groups and not topics) or time.monotonic() > deadline:
                    break
                for name in groups:
                    self._delete_groups(client, name, {name})
                for name in topics:
                    self._delete_topics(client, name)
            time.sleep(_LOOK_SECONDS)
        return self._left(marks)

    def _left(self, marks: set[str]) -> list[str]:
        found = []
        with self._connected() as client:
            kinds: list[tuple[str, Callable[[Client, str], list[str]], type[Message]]] = [
                ("topic", self._topics, DeleteTopicsRequest),
                ("group", self._groups, DeleteGroupsRequest),
                ("transactional id", self._transactional_ids, ListTransactionsRequest),
            ]
            for kind, look, removal in kinds:
                names = _marked(look(client, "-"), marks)
                if not names:
                    continue
                reason = "the broker has kept it"
                if kind == "transactional id":
                    reason = "Kafka has no request that deletes one; it goes after transactional.id.expiration.ms"
                elif API[removal.__name__.removesuffix("Request")].key not in self._claims.ranges:
                    reason = "the broker serves no request that deletes one"
                found.append(
                    f"{len(names)} {kind}{'' if len(names) == 1 else 's'}, such as {names[0][:_NAME_MAX]}: {reason}"
                )
        return found

    @contextmanager
    def _connected(self) -> Iterator[Client]:
        with Client(self._bootstrap, client_id="conformance-broom", timeout_seconds=self._patience_seconds) as client:
            yield client

    def _ask(self, client: Client, request: Message, wanted: int) -> Any:
        """The answer, in the highest version up to `wanted`; None if it is not served."""
        api = api_of(request)
        version = self._claims.version(api, wanted)
        if version is None or api in self._silent_about:
            return None
        try:
            return client.ask(request, version)
        except SilenceError:
            self._silent_about.add(api)
            raise

    def _end_transactions(self, client: Client, mark: str) -> None:
        """A new epoch aborts what is open."""
        answer = self._ask(client, ListTransactionsRequest(), 0)
        for state in answer.transaction_states if answer else ():
            if mark in state.transactional_id and state.transaction_state == "Ongoing":
                self._ask(client, InitProducerIdRequest(state.transactional_id, 1_000), 4)

    def _delete_groups(self, client: Client, mark: str, named: set[str]) -> None:
        groups = sorted({name for name in named if mark in name} | set(self._groups(client, mark)))
        described = self._ask(client, DescribeGroupsRequest(groups), 4) if groups else None
        for group in described.groups if described else ():
            members = [LeaveGroupRequest.MemberIdentity(member.member_id) for member in group.members]
            if members:
                self._ask(client, LeaveGroupRequest(group.group_id, members=members), 3)
        if groups:
            self._ask(client, DeleteGroupsRequest(groups), 2)

    def _delete_topics(self, client: Client, mark: str) -> None:
        if topics := self._topics(client, mark):
            self._ask(client, DeleteTopicsRequest(topic_names=topics, timeout_ms=10_000), 4)

    def _delete_configs(self, client: Client, mark: str) -> None:
        """Of groups and metrics subscriptions, which need not exist to have some."""
        answer = self._ask(client, ListConfigResourcesRequest([_METRICS, _GROUP]), 1)
        for resource in answer.config_resources if answer else ():
            kind, name = resource.resource_type, resource.resource_name
            if mark not in name:
                continue
            asked = DescribeConfigsRequest.DescribeConfigsResource(kind, name, None)
            described = self._ask(client, DescribeConfigsRequest([asked]), 1)
            changes = [
                IncrementalAlterConfigsRequest.AlterableConfig(config.name, _DELETE)
                for config in (described.results[0].configs if described else ())
                if config.config_source not in (_STATIC_BROKER, _DEFAULT)
            ]
            of_name = IncrementalAlterConfigsRequest.AlterConfigsResource(kind, name, changes)
            self._ask(client, IncrementalAlterConfigsRequest([of_name]), 1)

    def _topics(self, client: Client, mark: str) -> list[str]:
        answer = self._ask(client, MetadataRequest(topics=None, allow_auto_topic_creation=False), 8)
        return sorted(t.name for t in answer.topics if mark in (t.name or "")) if answer else []

    def _groups(self, client: Client, mark: str) -> list[str]:
        answer = self._ask(client, ListGroupsRequest(), 2)
        return sorted(g.group_id for g in answer.groups if mark in g.group_id) if answer else []

    def _transactional_ids(self, client: Client, mark: str) -> list[str]:
        answer = self._ask(client, ListTransactionsRequest(), 0)
        return sorted(
            state.transactional_id
            for state in (answer.transaction_states if answer else ())
            if mark in state.transactional_id
        )


def _marked(names: list[str], marks: set[str]) -> list[str]:
    return [name for name in names if any(mark in name for mark in marks)]
