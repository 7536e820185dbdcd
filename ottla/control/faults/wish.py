"""Faults and holds as a test or a script asks for them: one flat mapping of words.

    {"api": "Produce", "topic": "orders", "answer": "NOT_ENOUGH_REPLICAS", "times": 1}
     ────────────────── aim ───────────  ───────────── verb ────────────  ── times ──

Several verbs happen in the order in which they stand. Without times it happens until it is removed. Whatever makes no
sense is a `BadFault` with a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random
from typing import Any, Final

from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.control.faults.aim import ROLES, Aim, Target, api_names
from ottla.control.faults.appends import APPEND, HoldAppends
from ottla.control.faults.barrier import HoldBack, Side
from ottla.control.faults.deadlines import FAILOVER, TIMERS, HoldDeadlines
from ottla.control.faults.fault import Fault
from ottla.control.faults.misuse import BadFault, unknown
from ottla.control.faults.times import SEED_MAX, First, Nth, Times, WithProbability
from ottla.control.faults.verbs import VERBS, Surroundings, Verb
from ottla.coordinator.classic.timers import SESSION

__all__ = ["AIM_WORDS", "HELD_WORDS", "TIMES_WORDS", "Surroundings", "read_fault", "read_hold"]

_TEXTS: Final = ("group", "member", "instance", "transactional_id", "topic", "client_id", "principal", "listener")
_NUMBERS: Final = ("partition", "producer_id", "node")
_PREDICATES: Final = ("connection", "when")
#: What says at what a fault is aimed.
AIM_WORDS: Final = ("api", *_TEXTS, *_NUMBERS, "version", "role", *_PREDICATES)
#: What is held in place of requests; one of them.
HELD_WORDS: Final = ("timer", FAILOVER, APPEND)
_COUNT_MAX: Final = 2**31 - 1

#: What says how often; one of them.
TIMES_WORDS: Final = ("once", "times", "first", "nth", "every", "until_removed", "probability")


def read_fault(number: int, wish: Mapping[str, Any], around: Surroundings) -> Fault:
    """The fault that is asked for, with this number. Raises `BadFault`."""
    verbs = {word: VERBS[word] for word in wish if word in VERBS}
    _check_words(wish, (*AIM_WORDS, *VERBS, *TIMES_WORDS, "seed", "may_not_fire"))
    if not verbs:
        raise BadFault(f"a fault says what happens, with one of {', '.join(VERBS)}")
    aim = _read_aim(wish)
    target = _target_of(verbs, aim)
    for word, verb in verbs.items():
        _narrow(aim, word, verb)
    aim.check(target)
    times = _read_times(wish, around.cluster.random)
    actions = [verb.action(word, wish[word], around, aim) for word, verb in verbs.items()]
    text = f"{_aim_text(wish, aim)}: {', then '.join(action.text for action in actions)}, {times.text}"
    return Fault.new(number, text, aim, target, actions, times, may_not_fire=_read_flag(wish, "may_not_fire"))


def read_hold(number: int, wish: Mapping[str, Any], around: Surroundings) -> Fault:
    """The hold that is asked for: as a fault, without a verb, with `at` or one of `HELD_WORDS`. Raises `BadFault`."""
    _check_words(wish, (*AIM_WORDS, *TIMES_WORDS, *HELD_WORDS, "seed", "at", "may_not_fire"))
    aim = _read_aim(wish)
    said = [word for word in HELD_WORDS if wish.get(word) is not None]
    target: Target
    action: HoldAppends | HoldBack | HoldDeadlines
    if not said:
        target, action = Target.REQUEST, _read_side(wish)
    elif len(said) > 1:
        raise BadFault(f"{' and '.join(said)} are held by holds of their own")
    elif wish.get("at") is not None:
        raise BadFault(f"at is for requests; {said[0]} says what is held in place of them")
    elif said == [APPEND]:
        target, action = _read_append(wish, aim)
    else:
        target, action = _read_deadline(wish, aim, around.cluster.all_nodes)
    aim.check(target)
    times = _read_times(wish, around.cluster.random)
    text = f"{_aim_text(wish, aim)}: {action.text}, {times.text}"
    return Fault.new(number, text, aim, target, [action], times, may_not_fire=_read_flag(wish, "may_not_fire"))


def _read_side(wish: Mapping[str, Any]) -> HoldBack:
    at = wish.get("at", Side.REQUEST.value)
    sides = [side.value for side in Side]
    if at not in sides:
        raise unknown("place to hold at", at, sides)
    return HoldBack(Side(at))


def _read_append(wish: Mapping[str, Any], aim: Aim) -> tuple[Target, HoldAppends | HoldBack]:
    """What is held of appends: what groups write, or the request that a topic's batch comes with."""
    (topic, *more) = _list_of(wish, APPEND, str, "the name of a topic")
    if more:
        raise BadFault("append says one topic")
    if topic == GROUP_TOPIC:
        return Target.GROUP_APPEND, HoldAppends()
    if aim.topic or aim.apis:
        raise BadFault(f"append says which topic, such as append={topic!r}; leave topic and the API out")
    aim.topic, aim.apis = [topic], api_names("Produce")
    return Target.REQUEST, HoldBack(Side.REQUEST)


def _read_deadline(wish: Mapping[str, Any], aim: Aim, nodes: Collection[int]) -> tuple[Target, HoldDeadlines]:
    """What is held of deadlines; puts the nodes that are named into the aim."""
    if wish.get(FAILOVER) is not None:
        if aim.node:
            raise BadFault("failover says which node, such as failover=2; leave node out")
        aim.node = _list_of(wish, FAILOVER, int, "the id of a node, or a list of them")
        for node_id in aim.node:
            if node_id not in nodes:
                raise BadFault(f"there is no node {node_id}; there are {', '.join(map(str, nodes))}")
        return Target.FAILOVER, HoldDeadlines(FAILOVER)
    kinds = _list_of(wish, "timer", str, "a text, or a list of texts")
    for kind in kinds:
        if kind not in TIMERS:
            raise unknown("timer", kind, TIMERS)
    if aim.member and kinds != [SESSION]:
        raise BadFault('a join or a sync is of the whole group; with member= say timer="session"')
    return Target.TIMER, HoldDeadlines(*kinds)


def _check_words(wish: Mapping[str, Any], known: Sequence[str]) -> None:
    for word in wish:
        if word not in known:
            raise unknown("word", word, known)


def _target_of(verbs: Mapping[str, Verb], aim: Aim) -> Target:
    targets = {word: verb.target(aim) for word, verb in verbs.items()}
    first = next(iter(targets))
    if len(targets) > 1 and set(targets.values()) != {Target.REQUEST}:
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


def _read_aim(wish: Mapping[str, Any]) -> Aim:
    aim = Aim()
    for pattern in _list_of(wish, "api", str, "a name, or a list of names"):
        aim.apis |= api_names(pattern)
    for word in _TEXTS:
        setattr(aim, word, _list_of(wish, word, str, "a text, or a list of texts"))
    for word in _NUMBERS:
        setattr(aim, word, _list_of(wish, word, int, "a whole number, or a list of them"))
    aim.versions = _read_versions(wish.get("version"))
    aim.role = wish.get("role")
    if aim.role is not None and aim.role not in ROLES:
        raise unknown("role", aim.role, ROLES)
    for word in _PREDICATES:
        setattr(aim, word, _read_predicate(wish, word))
    return aim


def _list_of(wish: Mapping[str, Any], word: str, kind: type, what: str) -> list[Any]:
    value = wish.get(word)
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


def _read_predicate(wish: Mapping[str, Any], word: str) -> Callable[[Any], object] | None:
    value = wish.get(word)
    if value is not None and not callable(value):
        raise BadFault(f"{word} is a function, which only a program in Python can give; not {value!r}")
    return value


def _read_flag(wish: Mapping[str, Any], word: str) -> bool:
    value = wish.get(word, False)
    if type(value) is not bool:
        raise BadFault(f"{word} is true or false, not {value!r}")
    return value


def _read_times(wish: Mapping[str, Any], random: Random) -> Times:
    said = [word for word in TIMES_WORDS if wish.get(word) is not None and wish[word] is not False]
    if len(said) > 1:
        raise BadFault(f"{' and '.join(said)} are both said; how often it happens can be said once")
    if wish.get("seed") is not None and said != ["probability"]:
        raise BadFault("seed is for what happens with a probability")
    if not said or said == ["until_removed"]:
        return First(None)
    word = said[0]
    if word == "once":
        return First(1)
    if word == "probability":
        return _read_probability(wish, random)
    count = _number(wish, word, 1, _COUNT_MAX)
    return First(count) if word in ("times", "first") else Nth(count, is_repeated=word == "every")


def _read_probability(wish: Mapping[str, Any], random: Random) -> WithProbability:
    probability = wish["probability"]
    if type(probability) not in (int, float) or not 0 < probability <= 1:
        raise BadFault(f"probability is a number above 0 and up to 1, not {probability!r}")
    seed = random.randint(0, SEED_MAX) if wish.get("seed") is None else _number(wish, "seed", 0, SEED_MAX)
    return WithProbability(probability, seed)


def _number(wish: Mapping[str, Any], word: str, least: int, most: int) -> int:
    value = wish[word]
    if type(value) is not int or not least <= value <= most:
        raise BadFault(f"{word} is a whole number from {least} to {most}, not {value!r}")
    return value


def _aim_text(wish: Mapping[str, Any], aim: Aim) -> str:
    """Such as "Produce topic=orders partition=0", or "timer=session group=kitchen"."""
    apis = _shown(wish["api"]) if wish.get("api") is not None else ", ".join(sorted(aim.apis))
    said = [f"{word}={_shown(wish[word])}" for word in (*HELD_WORDS, *AIM_WORDS[1:]) if wish.get(word) is not None]
    return " ".join([apis, *said] if apis else said) or "everything"


def _shown(value: object) -> str:
    if callable(value):
        return "a function"
    return ",".join(map(str, value)) if isinstance(value, (list, tuple, set, frozenset)) else str(value)
