"""Faults and holds as a test or a script asks for them: one flat mapping of words.

    {"api": "Produce", "topic": "orders", "answer": "NOT_ENOUGH_REPLICAS", "times": 1}
     ────────────────── aim ───────────  ───────────── verb ────────────  ── times ──

Several verbs happen in the order in which they stand. Without times a fault happens until it is removed. A
specification that makes no sense raises `BadFault`, with a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final

from ottla.control.faults.aim import ROLES, Aim, api_names
from ottla.control.faults.coordinated import APPEND
from ottla.control.faults.fault import Fault
from ottla.control.faults.holds import Hold, HoldRequest, Side
from ottla.control.faults.misuse import BadFault, unknown
from ottla.control.faults.targets import (
    APPENDS_BY_TOPIC,
    FAILOVER,
    NODE_FAILOVER,
    REQUEST,
    Seams,
    Target,
    targets_of_timers,
)
from ottla.control.faults.times import SEED_MAX, First, Nth, Times, WithProbability
from ottla.control.faults.verbs import VERBS, Verb
from ottla.coordinator.groups.kinds import member_timers
from ottla.coordinator.transactions.step import TIMER_KINDS
from ottla.coordinator.transactions.time import TIMEOUT_TIMER

_TEXTS: Final = ("group", "member", "instance", "transactional_id", "topic", "client_id", "principal", "listener")
_NUMBERS: Final = ("partition", "producer_id", "node")
_PREDICATES: Final = ("connection", "when")
#: What says at what a fault is aimed.
AIM_WORDS: Final = ("api", *_TEXTS, *_NUMBERS, "version", "role", *_PREDICATES)
#: What is held in place of requests; one of them.
HELD_WORDS: Final = ("timer", FAILOVER, APPEND)
#: Timers that are of one member, or of one transactional id; others are of a whole group, or of a whole partition.
_OF_ONE: Final[Mapping[str, Callable[[], tuple[str, ...]]]] = {
    "member": member_timers,
    "transactional_id": lambda: (TIMER_KINDS[TIMEOUT_TIMER],),
}
_COUNT_MAX: Final = 2**31 - 1

#: What says how often; one of them.
TIMES_WORDS: Final = ("once", "times", "first", "nth", "every", "until_removed", "probability")


def read_fault(number: int, specification: Mapping[str, Any], seams: Seams) -> Fault:
    """The fault that is asked for, with this number. Raises `BadFault`."""
    verbs = {word: VERBS[word] for word in specification if word in VERBS}
    _check_words(specification, (*AIM_WORDS, *VERBS, *TIMES_WORDS, "seed", "may_not_fire"))
    if not verbs:
        raise BadFault(f"a fault says what happens, with one of {', '.join(VERBS)}")
    aim = _read_aim(specification)
    target = _target_of(verbs, aim)
    for word, verb in verbs.items():
        _narrow(aim, word, verb)
    aim.check(target)
    times = _read_times(specification, seams.cluster.random_source)
    actions = [verb.action(word, specification[word], seams, aim) for word, verb in verbs.items()]
    text = f"{_aim_text(specification, aim)}: {', then '.join(action.text for action in actions)}, {times.text}"
    return Fault(number, text, aim, target, actions, times, _read_flag(specification, "may_not_fire"))


def read_hold(number: int, specification: Mapping[str, Any], seams: Seams) -> Fault:
    """The hold that is asked for: as a fault, without a verb, with `at` or one of `HELD_WORDS`. Raises `BadFault`."""
    _check_words(specification, (*AIM_WORDS, *TIMES_WORDS, *HELD_WORDS, "seed", "at", "may_not_fire"))
    aim = _read_aim(specification)
    said = [word for word in HELD_WORDS if specification.get(word) is not None]
    if len(said) > 1:
        raise BadFault(f"{' and '.join(said)} are held by holds of their own")
    if said and specification.get("at") is not None:
        raise BadFault(f"at is for requests; {said[0]} says what is held in place of them")
    target = _HELD[said[0]](specification, aim, seams) if said else REQUEST
    action = HoldRequest(_read_side(specification)) if target is REQUEST else Hold(target.impossible)
    aim.check(target)
    times = _read_times(specification, seams.cluster.random_source)
    text = f"{_aim_text(specification, aim)}: {action.text}, {times.text}"
    return Fault(number, text, aim, target, [action], times, _read_flag(specification, "may_not_fire"))


def _read_side(specification: Mapping[str, Any]) -> Side:
    at = specification.get("at", Side.REQUEST.value)
    sides = [side.value for side in Side]
    if at not in sides:
        raise unknown("place to hold at", at, sides)
    return Side(at)


def _read_append(specification: Mapping[str, Any], aim: Aim, _seams: Seams) -> Target:
    """What is held of appends: what a coordinator writes, or the request that a topic's batch comes with."""
    (topic, *more) = _list_of(specification, APPEND, str, "the name of a topic")
    if more:
        raise BadFault("append says one topic")
    if topic in APPENDS_BY_TOPIC:
        return APPENDS_BY_TOPIC[topic]
    if aim.topic or aim.apis:
        raise BadFault(f"append says which topic, such as append={topic!r}; leave topic and the API out")
    aim.topic, aim.apis = [topic], api_names("Produce")
    return REQUEST


def _read_failover(specification: Mapping[str, Any], aim: Aim, seams: Seams) -> Target:
    """The failover from these nodes."""
    nodes = seams.cluster.all_nodes
    if aim.node:
        raise BadFault("failover says which node, such as failover=2; leave node out")
    aim.node = _list_of(specification, FAILOVER, int, "the id of a node, or a list of them")
    for node_id in aim.node:
        if node_id not in nodes:
            raise BadFault(f"there is no node {node_id}; there are {', '.join(map(str, nodes))}")
    return NODE_FAILOVER


def _read_timer(specification: Mapping[str, Any], aim: Aim, _seams: Seams) -> Target:
    """The timers of these words."""
    aim.timer = words = _list_of(specification, "timer", str, "a text, or a list of texts")
    targets = targets_of_timers()
    for word in words:
        if word not in targets:
            raise unknown("timer", word, targets)
    if len({targets[word] for word in words}) > 1:
        raise BadFault(f"{' and '.join(words)} are held by holds of their own")
    for subject, of_one in _OF_ONE.items():
        if getattr(aim, subject) and subject in (targets[words[0]].words or ()) and not {*words} <= {*of_one()}:
            known = " or ".join(f'timer="{word}"' for word in of_one())
            raise BadFault(f"{' and '.join(words)}: no timer of one {subject}; with {subject}= say {known}")
    return targets[words[0]]


#: What says what is held in place of requests: puts into the aim what it names.
_HELD: Final[Mapping[str, Callable[[Mapping[str, Any], Aim, Seams], Target]]] = {
    "timer": _read_timer,
    FAILOVER: _read_failover,
    APPEND: _read_append,
}


def _check_words(specification: Mapping[str, Any], known: Sequence[str]) -> None:
    for word in specification:
        if word not in known:
            raise unknown("word", word, known)


def _target_of(verbs: Mapping[str, Verb], aim: Aim) -> Target:
    targets = {word: verb.target(aim) for word, verb in verbs.items()}
    first = next(iter(targets))
    if len(targets) > 1 and set(targets.values()) != {REQUEST}:
        raise BadFault(f"{' and '.join(targets)} don't happen to the same thing; make them faults of their own")
    return targets[first]


def _narrow(aim: Aim, word: str, verb: Verb) -> None:
    """Aim at what the verb happens to, if nothing else was said."""
    if not verb.apis:
        return
    if not aim.apis:
        aim.apis = verb.apis
    elif not aim.apis <= verb.apis:
        raise BadFault(f"{word} happens to {', '.join(verb.apis)}, not to {', '.join(sorted(aim.apis - verb.apis))}")


def _read_aim(specification: Mapping[str, Any]) -> Aim:
    aim = Aim()
    for pattern in _list_of(specification, "api", str, "a name, or a list of names"):
        aim.apis |= api_names(pattern)
    for word in _TEXTS:
        setattr(aim, word, _list_of(specification, word, str, "a text, or a list of texts"))
    for word in _NUMBERS:
        setattr(aim, word, _list_of(specification, word, int, "a whole number, or a list of them"))
    aim.versions = _read_versions(specification.get("version"))
    aim.role = specification.get("role")
    if aim.role is not None and aim.role not in ROLES:
        raise unknown("role", aim.role, ROLES)
    for word in _PREDICATES:
        setattr(aim, word, _read_predicate(specification, word))
    return aim


def _list_of(specification: Mapping[str, Any], word: str, kind: type, what: str) -> list[Any]:
    value = specification.get(word)
    if value is None:
        return []
    values = list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]
    if not values or any(type(one) is not kind for one in values):
        raise BadFault(f"{word} is {what}, not {value!r}")
    return values


def _read_versions(value: object) -> tuple[int, int] | None:
    """A version, or a range of them as "3-5"."""
    if value is None:
        return None
    first, _, last = str(value).partition("-")
    if type(value) not in (int, str) or not first.isdecimal() or not (last or first).isdecimal():
        raise BadFault(f'version is a whole number, or a range such as "3-5", not {value!r}')
    return int(first), int(last or first)


def _read_predicate(specification: Mapping[str, Any], word: str) -> Callable[[Any], object] | None:
    value = specification.get(word)
    if value is not None and not callable(value):
        raise BadFault(f"{word} is a function, which only a program in Python can give; not {value!r}")
    return value


def _read_flag(specification: Mapping[str, Any], word: str) -> bool:
    value = specification.get(word, False)
    if type(value) is not bool:
        raise BadFault(f"{word} is true or false, not {value!r}")
    return value


def _read_times(specification: Mapping[str, Any], random_source: Random) -> Times:
    said = [word for word in TIMES_WORDS if specification.get(word) is not None and specification[word] is not False]
    if len(said) > 1:
        raise BadFault(f"{' and '.join(said)} are both said; how often it happens can be said once")
    if specification.get("seed") is not None and said != ["probability"]:
        raise BadFault("seed is for what happens with a probability")
    if not said or said == ["until_removed"]:
        return First(None)
    word = said[0]
    if word == "once":
        return First(1)
    if word == "probability":
        return _read_probability(specification, random_source)
    count = _number(specification, word, 1, _COUNT_MAX)
    return First(count) if word in ("times", "first") else Nth(count, is_repeated=word == "every")


def _read_probability(specification: Mapping[str, Any], random_source: Random) -> WithProbability:
    probability = specification["probability"]
    if type(probability) not in (int, float) or not 0 < probability <= 1:
        raise BadFault(f"probability is a number above 0 and up to 1, not {probability!r}")
    seed = (
        random_source.randint(0, SEED_MAX)
        if specification.get("seed") is None
        else _number(specification, "seed", 0, SEED_MAX)
    )
    return WithProbability(probability, seed)


def _number(specification: Mapping[str, Any], word: str, least: int, most: int) -> int:
    value = specification[word]
    if type(value) is not int or not least <= value <= most:
        raise BadFault(f"{word} is a whole number from {least} to {most}, not {value!r}")
    return value


def _aim_text(specification: Mapping[str, Any], aim: Aim) -> str:
    """Such as "Produce topic=orders partition=0", or "timer=session group=kitchen"."""
    apis = _shown(specification["api"]) if specification.get("api") is not None else ", ".join(sorted(aim.apis))
    said = [
        f"{word}={_shown(specification[word])}"
        for word in (*HELD_WORDS, *AIM_WORDS[1:])
        if specification.get(word) is not None
    ]
    return " ".join([apis, *said] if apis else said) or "everything"


def _shown(value: object) -> str:
    if callable(value):
        return "a function"
    return ",".join(map(str, value)) if isinstance(value, (list, tuple, set, frozenset)) else str(value)
