"""The list of what has work of its own: nothing in it is overlooked, by virtual time or at the end."""

from __future__ import annotations

import asyncio
from functools import cached_property

from ottla.broker.node.services import Services
from tests.broker.scene import Scene


class Work:
    """A service that is settled when it is told to be, and notes its end."""

    def __init__(self, name: str, ended: list[str]) -> None:
        self._name = name
        self._ended = ended
        self.is_settled = True

    def close(self) -> None:
        self._ended.append(self._name)


async def test_whatever_can_have_work_is_in_the_list() -> None:
    """A service that is added to the class and not entered would let virtual time go on while it works."""
    async with asyncio.TaskGroup() as tasks:
        services = Scene(tasks=tasks).services
        made = [getattr(services, name) for name, what in vars(Services).items() if isinstance(what, cached_property)]
        with_work = {service for service in made if hasattr(service, "is_settled") or hasattr(service, "close")}
        assert with_work == set(services._made)
        assert len(with_work) > 1
        services.close()


async def test_nothing_is_settled_while_one_of_them_has_work() -> None:
    services, works = Scene().services, [Work(name, []) for name in ("first", "second")]
    for work in works:
        services.enter(work)
    settled = [services.is_settled]
    for work in works:
        work.is_settled = False
        settled.append(services.is_settled)
        work.is_settled = True
    assert settled == [True, False, False]


async def test_what_was_made_last_is_closed_first() -> None:
    ended: list[str] = []
    services = Scene().services
    for name in ("first", "second"):
        services.enter(Work(name, ended))
    services.close()
    assert ended == ["second", "first"]
