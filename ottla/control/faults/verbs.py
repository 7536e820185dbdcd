"""Everything that can go wrong, by the word that asks for it: one method of `Verbs` for each verb.

What stands above a method makes its action; the method's signature says what the verb takes, its docstring what the
verb does. Tests call the methods (`testing.faults`), the control API and the terminal read the same words by the table
`VERBS`. docs/faults.md has a row for each.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar

from ottla.control.faults.answers import AnswerError, ChangeAnswer, StaleCoordinator, StaleLeader, Throttle
from ottla.control.faults.coordinated import LoseRecord, RefuseAppend
from ottla.control.faults.cutting import Cut, Moment, RefuseConnection, Trickle
from ottla.control.faults.delaying import DelayAnswer, DelayRequest
from ottla.control.faults.losing import BlackHole, DropAnswer, DropRequest, Duplicate
from ottla.control.faults.misuse import BadFault, unknown
from ottla.control.faults.posing import PoseAs
from ottla.control.faults.storage import FailAppend
from ottla.control.faults.targets import CONNECTION, GROUP_APPEND, PARTITION_APPEND, REQUEST, TRANSACTION_APPEND
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.control.faults.aim import Aim
    from ottla.control.faults.exchange import Action
    from ottla.control.faults.targets import Seams, Target

MS_MAX: Final = 366 * 24 * 3600 * 1000
_BYTES_MAX: Final = 2**31 - 1


# ── What a row of the table is ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Argument:
    """Something that a verb takes."""

    name: str
    kind: type | Callable[[object], bool]
    default: Any
    """`inspect.Parameter.empty`: it has to be said."""
    least: int
    most: int

    def read(self, verb: str, value: object) -> object:
        """The value, if it is one. Raises `BadFault`."""
        if value is None and self.default is None:
            return value
        if self.kind is callable:
            if not callable(value):
                raise BadFault(f"{verb} takes a function, which only a program in Python can give")
        elif type(value) is not self.kind:
            raise BadFault(f"{verb} takes {self.name} as {_KINDS_TOLD[self.kind]}, not {value!r}")
        elif isinstance(value, int) and not self.least <= value <= self.most:
            raise BadFault(f"{verb} takes {self.name} from {self.least} to {self.most}, not {value}")
        return value


_KINDS_TOLD: Final[Mapping[Any, str]] = {int: "a whole number", str: "a text", bool: "true or false"}
#: By the first word of an annotation.
_KINDS: Final[Mapping[str, Any]] = {"int": int, "str": str, "bool": bool, "Literal": str, "Callable": callable}


@dataclass(frozen=True, slots=True)
class Verb:
    """One thing that can go wrong."""

    arguments: tuple[Argument, ...]
    make: Callable[..., Action]
    """Gets the seams, the aim, and the arguments by name."""
    target: Callable[[Aim], Target]
    apis: frozenset[str]
    """What it happens to; empty: to any."""

    def action(self, word: str, value: object, seams: Seams, aim: Aim) -> Action:
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
            elif argument.default is inspect.Parameter.empty:
                raise BadFault(f"{word} has to say its {name}")
            else:
                read[name] = argument.default
        return self.make(seams, aim, **read)

    def _given(self, word: str, value: object) -> Mapping[str, object]:
        if isinstance(value, Mapping):
            return value
        if value is True and not (self.arguments and self.arguments[0].kind is bool):
            return {}
        if not self.arguments:
            raise BadFault(f"{word} takes nothing but true, not {value!r}")
        return {self.arguments[0].name: value}


#: By the word that asks for it.
VERBS: Final[dict[str, Verb]] = {}

F = TypeVar("F", bound=Callable[..., Any])


def _verb(
    make: Callable[..., Action],
    *,
    target: Callable[[Aim], Target] = lambda aim: REQUEST,
    apis: frozenset[str] = frozenset(),
    limits: Mapping[str, tuple[int, int]] | None = None,
) -> Callable[[F], F]:
    """Enter a method into the table. `limits`: the least and the most of an argument, where not every time is valid."""

    def enter(method: F) -> F:
        _, *parameters = inspect.signature(method).parameters.values()
        arguments = []
        for parameter in parameters:
            (word,) = re.findall(r"^\w+", parameter.annotation)
            limit = (limits or {}).get(parameter.name, (0, MS_MAX))
            arguments.append(Argument(parameter.name, _KINDS[word], parameter.default, *limit))
        VERBS[method.__name__] = Verb(tuple(arguments), make, target, apis)
        return method

    return enter


# ── What the verbs need ───────────────────────────────────────────────────────────────────────────────────────────────


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


def _append_of(aim: Aim) -> Target | None:
    """The append of a coordinator that is aimed at; None: none is."""
    if aim.group:
        return GROUP_APPEND
    return TRANSACTION_APPEND if aim.transactional_id else None


def _fail_append(aim: Aim, reason: str) -> Action:
    return FailAppend(reason) if _append_of(aim) is None else RefuseAppend(ErrorCode.KAFKA_STORAGE_ERROR)


# ── The table ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Verbs:
    """What a fault can do, as methods that say so. Each returns the fault, so several can follow one another."""

    def _do(self, verb: str, **arguments: Any) -> Self:
        """Have this happen, after what was said before."""
        raise NotImplementedError

    @_verb(lambda seams, aim, error, whole: AnswerError(aim, error_code(error), whole=whole))
    def answer(self, error: str, *, whole: bool = False) -> Self:
        """Answer with this error of Kafka's, such as "NOT_LEADER_OR_FOLLOWER". The request has no effect.

        Only the topics and partitions of the aim get the error; whole: the whole request gets it.
        """
        return self._do("answer", error=error, whole=whole)

    @_verb(lambda seams, aim: DropRequest())
    def drop_request(self) -> Self:
        """Lose the request: it has no effect, and the client waits."""
        return self._do("drop_request")

    @_verb(lambda seams, aim: DropAnswer())
    def drop_answer(self) -> Self:
        """Serve the request, and lose the answer."""
        return self._do("drop_answer")

    @_verb(lambda seams, aim, ms: DelayRequest(seams.timer, ms))
    def delay(self, ms: int) -> Self:
        """Delay the request, by the broker's clock."""
        return self._do("delay", ms=ms)

    @_verb(lambda seams, aim, ms: DelayAnswer(seams.timer, ms))
    def delay_answer(self, ms: int) -> Self:
        """Serve the request at once, and delay the answer."""
        return self._do("delay_answer", ms=ms)

    @_verb(
        lambda seams, aim, after_bytes, at, reset: _cut(at, after_bytes, reset), limits={"after_bytes": (0, _BYTES_MAX)}
    )
    def cut(
        self,
        after_bytes: int | None = None,
        *,
        at: Literal["request", "answer", "end"] | None = None,
        reset: bool = False,
    ) -> Self:
        """Close the connection at the request, which then has no effect, at the answer, at its end, or after some bytes
        of it. reset: reset the connection, as a crash does.
        """
        return self._do("cut", after_bytes=after_bytes, at=at, reset=reset)

    @_verb(
        lambda seams, aim, bytes_count, every_ms: Trickle(seams.timer, bytes_count, every_ms),
        limits={"bytes_count": (1, _BYTES_MAX), "every_ms": (1, MS_MAX)},
    )
    def trickle(self, bytes_count: int = 1, *, every_ms: int = 10) -> Self:
        """Send the answer a few bytes at a time."""
        return self._do("trickle", bytes_count=bytes_count, every_ms=every_ms)

    @_verb(lambda seams, aim: BlackHole())
    def black_hole(self) -> Self:
        """Ignore everything that the client sends."""
        return self._do("black_hole")

    @_verb(lambda seams, aim, reset: RefuseConnection(reset=reset), target=lambda aim: CONNECTION)
    def turn_away(self, *, reset: bool = False) -> Self:
        """Close, or reset, each new connection at once. It can be aimed at a node, a listener or a connection."""
        return self._do("turn_away", reset=reset)

    @_verb(lambda seams, aim: Duplicate())
    def duplicate(self) -> Self:
        """Serve the request twice, as after a retry; answer once."""
        return self._do("duplicate")

    @_verb(lambda seams, aim, ms: Throttle(ms))
    def throttle(self, ms: int) -> Self:
        """Tell the client that it is throttled for this time."""
        return self._do("throttle", ms=ms)

    @_verb(lambda seams, aim, node_id: StaleLeader(aim, seams.cluster, node_id), apis=frozenset({"Metadata"}))
    def stale_leader(self, node_id: int | None = None) -> Self:
        """Name this node, by default any other one, as leader in metadata."""
        return self._do("stale_leader", node_id=node_id)

    @_verb(
        lambda seams, aim, node_id: StaleCoordinator(aim, seams.cluster, node_id), apis=frozenset({"FindCoordinator"})
    )
    def stale_coordinator(self, node_id: int | None = None) -> Self:
        """Name this node, by default any other one, as coordinator."""
        return self._do("stale_coordinator", node_id=node_id)

    @_verb(lambda seams, aim, release: PoseAs(release))
    def pose_as(self, release: str) -> Self:
        """Offer only the APIs and versions of this release of Kafka, such as "3.9"."""
        return self._do("pose_as", release=release)

    @_verb(lambda seams, aim, function: ChangeAnswer(aim, function))
    def change(self, function: Callable[[Any], Any]) -> Self:
        """Change the answer: the function gets a decoded copy, and changes it or returns another one."""
        return self._do("change", function=function)

    @_verb(lambda seams, aim, reason: _fail_append(aim, reason), target=lambda aim: _append_of(aim) or PARTITION_APPEND)
    def fail_append(self, reason: str = "No space left on device") -> Self:
        """Let the disk refuse appends to a topic or, aimed at a group or a transactional id, the writes of that one."""
        return self._do("fail_append", reason=reason)

    @_verb(lambda seams, aim: LoseRecord(), target=lambda aim: _append_of(aim) or GROUP_APPEND)
    def lose_record(self) -> Self:
        """Lose a write of a group, such as a commit, or of a transactional id. The loss shows only when that is read
        again.
        """
        return self._do("lose_record")

    @_verb(lambda seams, aim, ms: DelayRequest(seams.timer, ms), apis=frozenset({"Produce"}))
    def slow_disk(self, ms: int) -> Self:
        """Let each produce request wait this long for the disk."""
        return self._do("slow_disk", ms=ms)
