"""`@simulated()`: a test function whose story is told once for each of some seeds.

A failure says by which seed it came, and `pytest --ottla-seed=7` tells only that one. pytest sees an ordinary function:
the first parameter is the broker, the others are fixtures as ever.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ottla.testing.simulation import seeds as seeds_chosen

if TYPE_CHECKING:
    from collections.abc import Mapping

#: An async function of a `SimulatedBroker` and whatever else.
Story: TypeAlias = Callable[..., Coroutine[Any, Any, Any]]
SEEDS: Final = 10


def simulated(
    seeds: int | Iterable[int] = SEEDS,
    *,
    nodes: int = 1,
    settings: Mapping[str, object] | None = None,
    latency_ms: tuple[float, float] = (0.05, 1.0),
    limit_s: float = 3_600.0,
    log_level: str = "warning",
) -> Callable[[Story], Callable[..., None]]:
    """
    seeds: how many to try, from 0 on, or which ones (default 10).
    nodes, settings, latency_ms, limit_s, log_level: as for a `Simulation`.
    """
    options: dict[str, Any] = {
        "nodes": nodes,
        "settings": settings,
        "latency_ms": latency_ms,
        "limit_s": limit_s,
        "log_level": log_level,
    }
    wanted = range(seeds) if isinstance(seeds, int) else tuple(seeds)

    def decorate(story: Story) -> Callable[..., None]:
        @functools.wraps(story)
        def test(*arguments: Any, **fixtures: Any) -> None:
            for seed in wanted if seeds_chosen.chosen is None else (seeds_chosen.chosen,):
                _tell(story, seed, options, arguments, fixtures)

        del test.__wrapped__  # pytest would find a coroutine in it
        signature = inspect.signature(story)
        broker, *others = signature.parameters.values()
        if broker.name == "self":
            others = [broker, *others[1:]]
        test.__signature__ = signature.replace(parameters=others, return_annotation=None)  # type: ignore[attr-defined]
        return test

    return decorate


def _tell(
    story: Story, seed: int, options: Mapping[str, Any], arguments: tuple[Any, ...], fixtures: Mapping[str, Any]
) -> None:
    from ottla.testing.simulation.simulation import Simulation

    try:
        Simulation(seed, **options).run(lambda kafka: story(*arguments, kafka, **fixtures))
    except BaseException as error:
        error.add_note(f"simulated with seed {seed}; once more: pytest --ottla-seed={seed}{_hash_order()}")
        raise


def _hash_order() -> str:
    """What the seed does not decide: the order of sets of strings, unless PYTHONHASHSEED does."""
    fixed = os.environ.get("PYTHONHASHSEED", "random")
    if fixed == "random":
        return " (if it passes then, the order of a set may matter: set PYTHONHASHSEED=0 for both runs)"
    return f" with PYTHONHASHSEED={fixed}"
