"""Everything that can go wrong, by the word that asks for it: what it takes, and what makes it.

The same table serves Python, the control API and the terminal; docs/faults.md tells of each row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ottla.control.faults.aim import Aim, Target
from ottla.control.faults.answers import AnswerError, ChangeAnswer, StaleCoordinator, StaleLeader, Throttle
from ottla.control.faults.cutting import Cut, Moment, Trickle, TurnAway
from ottla.control.faults.delaying import DelayAnswer, DelayRequest
from ottla.control.faults.losing import BlackHole, DropAnswer, DropRequest, Duplicate
from ottla.control.faults.misuse import BadFault, unknown
from ottla.control.faults.posing import PoseAs
from ottla.control.faults.storage import FailAppend, LoseRecord, RefuseGroupAppend
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.cluster.cluster import Cluster
    from ottla.control.faults.fault import AnyAction
    from ottla.purgatory import Timer

MS_MAX: Final = 366 * 24 * 3600 * 1000
_BYTES_MAX: Final = 2**31 - 1


class Surroundings(NamedTuple):
    """What actions need of the broker."""

    cluster: Cluster
    timer: Timer


@dataclass(frozen=True, slots=True)
class Argument:
    """Something that a verb takes."""

    name: str
    kind: type | Callable[[object], bool]
    default: Any = ...
    """`...`: it has to be said."""
    least: int = 0
    most: int = MS_MAX

    def read(self, verb: str, value: object) -> object:
        """The value, if it is one. Raises `BadFault`."""
        if value is None and self.default is None:
            return value
        if self.kind is callable:
            if not callable(value):
                raise BadFault(f"{verb} takes a function, which only a program in Python can give")
        elif type(value) is not self.kind:
            raise BadFault(f"{verb} takes {self.name} as {_KINDS[self.kind]}, not {value!r}")
        elif isinstance(value, int) and not self.least <= value <= self.most:
            raise BadFault(f"{verb} takes {self.name} from {self.least} to {self.most}, not {value}")
        return value


_KINDS: Final[Mapping[Any, str]] = {int: "a whole number", str: "a text", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class Verb:
    """One thing that can go wrong."""

    does: str
    arguments: tuple[Argument, ...]
    make: Callable[..., AnyAction]
    """Gets the surroundings, the aim, and the arguments by name."""
    target: Callable[[Aim], Target] = lambda aim: Target.REQUEST
    apis: frozenset[str] = frozenset()
    """What it happens to; empty: to any."""

    def action(self, word: str, value: object, around: Surroundings, aim: Aim) -> AnyAction:
        """What this value asks for: true, the first argument, or all of them by name. Raises `BadFault`."""
        given = self._given(word, value)
        known = {argument.name: argument for argument in self.arguments}
        for name in given:
            if name not in known:
                takes = f"it takes {', '.join(known)}" if known else "it takes nothing"
                raise BadFault(f"{word} does not take {name!r}; {takes}")
        read = {}
        for name, argument in known.items():
            if name in given:
                read[name] = argument.read(word, given[name])
            elif argument.default is ...:
                raise BadFault(f"{word} has to say its {name}")
            else:
                read[name] = argument.default
        return self.make(around, aim, **read)

    def _given(self, word: str, value: object) -> Mapping[str, object]:
        if isinstance(value, Mapping):
            return value
        if value is True and not (self.arguments and self.arguments[0].kind is bool):
            return {}
        if not self.arguments:
            raise BadFault(f"{word} takes nothing but true, not {value!r}")
        return {self.arguments[0].name: value}


def error_code(name: str) -> ErrorCode:
    """The error of this name. Raises `BadFault`."""
    found = ErrorCode.__members__.get(name.upper())
    if found is None:
        raise unknown("error", name, ErrorCode.__members__)
    return found


def _cut(at: str | None, after_bytes: int | None, reset: bool) -> Cut:
    moments = [moment.value for moment in Moment]
    if (at is None) is (after_bytes is None):
        raise BadFault(f"cut says when: at one of {', '.join(moments)}, or after_bytes of the answer")
    if at is None:
        assert after_bytes is not None
        return Cut(after_bytes, reset=reset)
    if at not in moments:
        raise unknown("moment", at, moments)
    return Cut(Moment(at), reset=reset)


def _fail_append(aim: Aim, reason: str) -> FailAppend | RefuseGroupAppend:
    return RefuseGroupAppend(ErrorCode.KAFKA_STORAGE_ERROR) if aim.group else FailAppend(reason)


_MS: Final = Argument("ms", int)
_RESET: Final = Argument("reset", bool, default=False)
_NODE: Final = Argument("node_id", int, default=None)

#: By the word that asks for it.
VERBS: Final[Mapping[str, Verb]] = {
    "answer": Verb(
        "answer with an error, and do nothing",
        (Argument("error", str), Argument("whole", bool, default=False)),
        lambda around, aim, error, whole: AnswerError(aim, error_code(error), whole=whole),
    ),
    "drop_request": Verb(
        "lose the request: nothing is done, and its client waits", (), lambda around, aim: DropRequest()
    ),
    "drop_answer": Verb("do it, and lose the answer", (), lambda around, aim: DropAnswer()),
    "delay": Verb("have the request arrive later", (_MS,), lambda around, aim, ms: DelayRequest(around.timer, ms)),
    "delay_answer": Verb("do it, and answer later", (_MS,), lambda around, aim, ms: DelayAnswer(around.timer, ms)),
    "cut": Verb(
        "end the connection at the request, at the answer, at its end, or after so many bytes of it",
        (
            Argument("after_bytes", int, default=None, most=_BYTES_MAX),
            Argument("at", str, default=None),
            _RESET,
        ),
        lambda around, aim, after_bytes, at, reset: _cut(at, after_bytes, reset),
    ),
    "trickle": Verb(
        "have the answer leave a few bytes at a time",
        (Argument("bytes_count", int, default=1, least=1, most=_BYTES_MAX), Argument("every_ms", int, 10, least=1)),
        lambda around, aim, bytes_count, every_ms: Trickle(around.timer, bytes_count, every_ms),
    ),
    "black_hole": Verb("swallow all that a client sends", (), lambda around, aim: BlackHole()),
    "turn_away": Verb(
        "close or reset every connection as soon as it is made",
        (_RESET,),
        lambda around, aim, reset: TurnAway(reset=reset),
        target=lambda aim: Target.CONNECTION,
    ),
    "duplicate": Verb("do it twice, and answer once", (), lambda around, aim: Duplicate()),
    "throttle": Verb("claim to throttle the client", (_MS,), lambda around, aim, ms: Throttle(ms)),
    "stale_leader": Verb(
        "name another node as leader in metadata",
        (_NODE,),
        lambda around, aim, node_id: StaleLeader(aim, around.cluster, node_id),
        apis=frozenset({"Metadata"}),
    ),
    "stale_coordinator": Verb(
        "name another node as coordinator",
        (_NODE,),
        lambda around, aim, node_id: StaleCoordinator(aim, around.cluster, node_id),
        apis=frozenset({"FindCoordinator"}),
    ),
    "pose_as": Verb(
        "claim to be an older Kafka", (Argument("release", str),), lambda around, aim, release: PoseAs(release)
    ),
    "change": Verb(
        "change the answer by a function",
        (Argument("function", callable),),
        lambda around, aim, function: ChangeAnswer(aim, function),
    ),
    "fail_append": Verb(
        "have the disk refuse an append; of a group with KAFKA_STORAGE_ERROR",
        (Argument("reason", str, default="No space left on device"),),
        lambda around, aim, reason: _fail_append(aim, reason),
        target=lambda aim: Target.GROUP_APPEND if aim.group else Target.APPEND,
    ),
    "lose_record": Verb(
        "have what a group writes, such as a commit, not be written, and nobody notice",
        (),
        lambda around, aim: LoseRecord(),
        target=lambda aim: Target.GROUP_APPEND,
    ),
    "slow_disk": Verb(
        "have every append wait for the disk",
        (_MS,),
        lambda around, aim, ms: DelayRequest(around.timer, ms),
        apis=frozenset({"Produce"}),
    ),
}
