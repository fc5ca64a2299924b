# SPDX-License-Identifier: Apache-2.0
"""Describes the cores of the engine's workers: a list that the engine spreads its work over, or cores for each task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from natxy.plan.model.base import PlanModel


def _each_once(cores: list[int]) -> list[int]:
    if twice := [core for core in cores if cores.count(core) > 1]:
        raise ValueError(f"core {twice[0]} is in the list twice; remove one")
    return cores


Core = Annotated[int, Field(ge=0)]
_List = Annotated[list[Core], Field(min_length=1)]
Cores = Annotated[
    _List,
    BeforeValidator(
        lambda given: given if isinstance(given, list | tuple) else [given], json_schema_input_type=Core | _List
    ),
    AfterValidator(_each_once),
]
"""A core, or a list of cores."""


class CoresOfPort(PlanModel):
    """The cores that send, and those that receive, on one port of the tester."""

    send: Cores
    """Cores that send on the port."""
    receive: Cores
    """Cores that receive on the port."""


class CoresOfTasks(PlanModel):
    """The cores of each task of the tester. A core may have several tasks."""

    left: CoresOfPort
    """Cores of the port on this side."""
    right: CoresOfPort
    """Cores of the port on this side."""

    def tasks(self) -> Iterator[tuple[str, str, list[int]]]:
        """Yields the side, the name and the cores of each task."""
        for side, port in (("left", self.left), ("right", self.right)):
            yield side, "send", port.send
            yield side, "receive", port.receive

    def __str__(self) -> str:
        return _text(self.tasks())


def _text(tasks: Iterable[tuple[str, str, list[int]]]) -> str:
    return ", ".join(f"{side} {task} {'+'.join(map(str, cores))}" for side, task, cores in tasks)


def _written_as(given: Any) -> str:
    return "mapping" if isinstance(given, Mapping | CoresOfTasks) else "list"


TesterCores = Annotated[
    Annotated[Cores, Tag("list")] | Annotated[CoresOfTasks, Tag("mapping")],
    Discriminator(_written_as),
]


def form(cores: Sequence[int] | CoresOfTasks) -> str | None:
    """Returns which tasks share a core, whatever the cores' numbers; None for a list.

    The cores are counted from 1 on, in the order of the tasks: `left send 1, left receive 2, …`.
    """
    if not isinstance(cores, CoresOfTasks):
        return None
    numbers = {core: number for number, core in enumerate(distinct(cores), start=1)}
    return _text((side, task, [numbers[core] for core in own]) for side, task, own in cores.tasks())


def distinct(cores: Sequence[int] | CoresOfTasks) -> tuple[int, ...]:
    """Returns each of the tester's cores once."""
    if isinstance(cores, CoresOfTasks):
        return tuple(dict.fromkeys(core for _, _, own in cores.tasks() for core in own))
    return tuple(cores)
