"""What each API asks the authorizer, and what it answers a client that may not: one table, run on the route.

    Whole    the request as such: denied, all of it is answered with the error
    Items    each item of a list: those that are denied are answered with the error, and the handler gets the rest
    Own      the handler asks: Kafka asks in the middle of other checks, or hides what is denied; the row says which
    Open     nothing is asked

Guards of an API are asked in their order. A route is guarded only if the broker has an authorizer that may say no
(`Routes`); else it leads to its handler as ever. Where errors stand is the API's own matter (`refuse` of its handler).

Kafka: KafkaApis, ControllerApis, AuthHelper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ottla.broker.requests.parts import joined
from ottla.broker.security.access import allows
from ottla.pacing import paced
from ottla.protocol.copying import changed
from ottla.protocol.errors import ErrorCode
from ottla.security.authorizer import CLUSTER_NAME, AclOperation, AclResourceType

if TYPE_CHECKING:
    from ottla.broker.network.call import Call
    from ottla.protocol.primitives import Message

_Handler: TypeAlias = "Callable[[Message, Any], Message | None]"
_Refuse: TypeAlias = "Callable[[Message, ErrorCode], Message]"

#: What a client is told that may not do something to a resource of this type.
DENIED: Final[Mapping[AclResourceType, ErrorCode]] = {
    AclResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    AclResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    AclResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    AclResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}


@dataclass(frozen=True, slots=True)
class Right:
    """An operation on a resource."""

    operation: AclOperation
    resource_type: AclResourceType
    field: str = ""
    """Where the resource's name stands, in the request or in an item of it; "": the item is the name."""

    def is_held(self, call: Call, subject: Any) -> bool:
        """Whether the client has it. `subject`: the request, or an item of it."""
        if self.resource_type is AclResourceType.CLUSTER:
            name = CLUSTER_NAME
        else:
            name = getattr(subject, self.field) if self.field else subject
        return allows(call, self.operation, self.resource_type, name)


@dataclass(frozen=True, slots=True)
class Whole:
    """The whole request needs a right; of several one is enough."""

    rights: tuple[Right, ...]
    is_void: Callable[[Any, int], bool] = lambda _request, _version: False
    """(request, version) -> whether the handler refuses it for another reason, which comes first."""


@dataclass(frozen=True, slots=True)
class Items:
    """Each item of a list needs a right."""

    field: str
    right: Right
    is_first: bool = False
    """Whether items that are denied stand first in the answer; else last."""
    unless: Right | None = None
    """A right by which nothing is asked of the items."""


@dataclass(frozen=True, slots=True)
class Own:
    """The handler asks for itself."""

    reason: str


@dataclass(frozen=True, slots=True)
class Open:
    """Every client may."""


Guard: TypeAlias = Whole | Items | Own | Open

_Op, _Type = AclOperation, AclResourceType


def _cluster(*operations: AclOperation) -> Whole:
    return Whole(tuple(Right(operation, _Type.CLUSTER) for operation in operations))


def _group(operation: AclOperation = _Op.READ) -> Whole:
    return Whole((Right(operation, _Type.GROUP, "group_id"),))


_WRITES_ID: Final = Whole((Right(_Op.WRITE, _Type.TRANSACTIONAL_ID, "transactional_id"),))
_BY_ID: Final = Own("topics are named by id; an id of no topic comes before what may be read")
_HIDDEN: Final = Own("what a client may not describe is left out, if all are asked for")
_IN_ORDER: Final = Own("Kafka asks between other checks of each item")
_BY_TYPE: Final = Own("each resource type has an operation of its own")
_ACLS: Final = Own("a code that Kafka's parser does not know closes the connection first")

#: By the names of APIs: every one that is served.
GUARDS: Final[Mapping[str, Sequence[Guard]]] = {
    "Produce": (_IN_ORDER,),
    "Fetch": (_BY_ID,),
    "ListOffsets": (Items("topics", Right(_Op.DESCRIBE, _Type.TOPIC, "name")),),
    "Metadata": (_HIDDEN,),
    "OffsetCommit": (_group(), _BY_ID),
    "OffsetFetch": (_HIDDEN,),
    "FindCoordinator": (_BY_TYPE,),
    "JoinGroup": (_group(),),
    "Heartbeat": (_group(),),
    "LeaveGroup": (_group(),),
    "SyncGroup": (
        Whole(
            (Right(_Op.READ, _Type.GROUP, "group_id"),),
            lambda request, version: version >= 5 and None in (request.protocol_type, request.protocol_name),
        ),
    ),
    "DescribeGroups": (Items("groups", Right(_Op.DESCRIBE, _Type.GROUP), is_first=True),),
    "ListGroups": (_HIDDEN,),
    "ApiVersions": (Open(),),
    "CreateTopics": (_IN_ORDER,),
    "DeleteTopics": (_IN_ORDER,),
    "DeleteRecords": (Items("topics", Right(_Op.DELETE, _Type.TOPIC, "name")),),
    "InitProducerId": (_IN_ORDER,),
    "OffsetForLeaderEpoch": (
        Items("topics", Right(_Op.DESCRIBE, _Type.TOPIC, "topic"), unless=Right(_Op.CLUSTER_ACTION, _Type.CLUSTER)),
    ),
    "AddPartitionsToTxn": (_IN_ORDER,),
    "AddOffsetsToTxn": (_WRITES_ID, _group()),
    "EndTxn": (_WRITES_ID,),
    "WriteTxnMarkers": (_cluster(_Op.ALTER, _Op.CLUSTER_ACTION),),
    "TxnOffsetCommit": (_WRITES_ID, _group(), _BY_ID),
    "DescribeAcls": (_ACLS,),
    "CreateAcls": (_ACLS,),
    "DeleteAcls": (_ACLS,),
    "DescribeConfigs": (_BY_TYPE,),
    "AlterConfigs": (_BY_TYPE,),
    "IncrementalAlterConfigs": (_BY_TYPE,),
    "AlterReplicaLogDirs": (_cluster(_Op.ALTER),),
    "DescribeLogDirs": (_cluster(_Op.DESCRIBE),),
    "CreatePartitions": (_IN_ORDER,),
    "DeleteGroups": (Items("groups_names", Right(_Op.DELETE, _Type.GROUP)),),
    "ElectLeaders": (_cluster(_Op.ALTER),),
    "AlterPartitionReassignments": (_cluster(_Op.ALTER),),
    "ListPartitionReassignments": (_cluster(_Op.DESCRIBE),),
    "OffsetDelete": (_group(_Op.DELETE), Own("an error of the group replaces those of topics")),
    "DescribeClientQuotas": (_cluster(_Op.DESCRIBE_CONFIGS),),
    "DescribeUserScramCredentials": (_cluster(_Op.DESCRIBE),),
    "DescribeQuorum": (_cluster(_Op.DESCRIBE),),
    "UpdateFeatures": (_cluster(_Op.ALTER),),
    "DescribeCluster": (Open(),),
    "DescribeProducers": (_IN_ORDER,),
    "DescribeTransactions": (_HIDDEN,),
    "ListTransactions": (_HIDDEN,),
    "ListConfigResources": (_cluster(_Op.DESCRIBE_CONFIGS),),
    "DescribeTopicPartitions": (_HIDDEN,),
}


def guarded(api: str, handler: _Handler, refuse: _Refuse) -> _Handler:
    """The handler of an API, behind its guards."""
    guards = [guard for guard in GUARDS[api] if isinstance(guard, Whole | Items)]
    if not guards:
        return handler

    def handle(request: Message, call: Call) -> Message | None:
        for guard in guards:
            if isinstance(guard, Items):
                return _handle_allowed(guard, request, call, handler, refuse)
            if not guard.is_void(request, call.api_version) and not any(
                right.is_held(call, request) for right in guard.rights
            ):
                return refuse(request, DENIED[guard.rights[0].resource_type])
        return handler(request, call)

    return handle


def _handle_allowed(guard: Items, request: Message, call: Call, handler: _Handler, refuse: _Refuse) -> Message | None:
    if guard.unless is not None and guard.unless.is_held(call, request):
        return handler(request, call)
    allowed: list[Any] = []
    denied: list[Any] = []
    for item in paced(getattr(request, guard.field)):
        (allowed if guard.right.is_held(call, item) else denied).append(item)
    if not denied:
        return handler(request, call)
    error = DENIED[guard.right.resource_type]
    refused = refuse(changed(request, **{guard.field: denied}), error)
    if not allowed:
        return refused

    def join(served: Message) -> Message:
        return joined(refused, served) if guard.is_first else joined(served, refused)

    part: Any = _Part(call, join)
    served = handler(changed(request, **{guard.field: allowed}), part)
    return None if served is None else join(served)


class _Part:
    """Stands in for a call whose handler gets a part of the request: to its answer the rest is joined."""

    def __init__(self, call: Call, join: Callable[[Message], Message]) -> None:
        self.__dict__.update(_call=call, _join=join)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._call, name, value)

    def answer(self, response: Message) -> None:
        """Give the answer to all of the request."""
        self._call.answer(self._join(response))

    def go_on(self, handle: Callable[[], Message | None]) -> None:
        """As `Call.go_on`."""

        def handle_part() -> Message | None:
            served = handle()
            return None if served is None else self._join(served)

        self._call.go_on(handle_part)
