# SPDX-License-Identifier: Apache-2.0
"""Adds the verbs of other distributions to natxy's own: the entry points of the group `natxy.verbs`.

They are looked for when one is called or listed, so that natxy's own verbs neither wait for them nor depend on them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

import typer
from typer.main import get_group

from natxy.cli.guide.usage import Group, Verb
from natxy.errors import NatxyError
from natxy.installation import DistributionBrokenError, DistributionMissingError
from natxy.terminal.errors import reported_errors

VERBS: Final = "natxy.verbs"
"""Names the group of entry points."""

SIITPERF: Final = "natxy-siitperf"
DISTRIBUTIONS: Final = {"import": SIITPERF, "install-siitperf": SIITPERF, "leave-out": SIITPERF}
"""Names the distributions of verbs that natxy's documentation describes."""

_ANY_ARGUMENTS: Final = {"allow_extra_args": True, "ignore_unknown_options": True}


class Program(Group):
    """Holds natxy's own verbs, and those of other distributions, which replace none of these."""

    @property
    def commands(self) -> Any:
        """All verbs by name, natxy's own first."""
        return {**self._own, **self._added}

    @commands.setter
    def commands(self, own: Any) -> None:
        self._own: dict[str, Any] = own

    @cached_property
    def _added(self) -> dict[str, Any]:
        return {name: command for name, command in added_verbs().items() if name not in self._own}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return self._own.get(cmd_name) or self._added.get(cmd_name)


def added_verbs() -> dict[str, Any]:
    """Returns the commands of other distributions by name.

    One that cannot be loaded, or whose distribution is missing, says so when it is called.
    """
    found: dict[str, Any] = {}
    for point in entry_points(group=VERBS):
        if point.name not in found:
            found[point.name] = _loaded(point)
    for name, distribution in DISTRIBUTIONS.items():
        if name not in found:
            error = DistributionMissingError(f"`natxy {name}`", distribution)
            found[name] = _refusing(name, error, f"Needs {distribution}, which is not installed.")
    return found


def _loaded(point: EntryPoint) -> Any:
    try:
        return _command(point.name, point.load())
    # Whatever is wrong with another distribution must not end the list of verbs.
    except Exception as error:
        distribution = point.dist.name if point.dist else point.value
        broken = DistributionBrokenError(f"`natxy {point.name}`", distribution, error)
        return _refusing(point.name, broken, f"Is broken: {distribution} could not be loaded.")


def _refusing(name: str, error: NatxyError, described: str) -> Any:
    """Returns a command that takes any arguments and ends by an error; lists of verbs leave it out."""

    def refuse() -> None:
        with reported_errors():
            raise error

    return _command(name, refuse, help=described, hidden=True, context_settings=_ANY_ARGUMENTS)


def _command(name: str, verb: Callable[..., Any], **settings: Any) -> Any:
    app = typer.Typer(cls=Group, add_completion=False, rich_markup_mode=None)
    app.command(name, cls=Verb, **settings)(verb)
    return get_group(app).commands[name]
