# SPDX-License-Identifier: Apache-2.0
"""Settings of a gateway that the user's own commands control."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from natxy.plan.gateways.base import GatewayModel
from natxy.plan.model.terms import TranslationKind
from natxy.plan.model.units import Duration

Command = Annotated[list[str], Field(min_length=1)]


class CommandConfig(GatewayModel):
    """Any gateway. A command is a program with its arguments, run on the DUT as they are, by no shell.

    `{left}` and `{right}` in an argument become the DUT's interfaces, `{left_address}` and `{right_address}` its own
    addresses on them; in `set_cores`, `{cores}` is the number of cores.
    """

    driver: Literal["command"] = "command"
    stateful: bool = Field(default=False, description="it keeps connections; needs `clear`")
    masquerades: bool = Field(default=False, description="it hides the left side, which then has private addresses")
    apply: list[Command] = Field(default=[], description="sets the gateway up")
    remove: list[Command] = Field(default=[], description="takes back what `apply` did; harmless when there is nothing")
    wait_ready: Command | None = Field(default=None, description="repeated until it succeeds")
    clear: list[Command] = Field(default=[], description="empties the connection tracking table")
    count: Command | None = Field(
        default=None, description="prints the number of connections; the first number printed is taken"
    )
    restart: list[Command] = Field(
        default=[], description="reset the gateway, which is then set up as before; `remove` and `apply` if not given"
    )
    set_cores: list[Command] = Field(
        default=[], description="have `{cores}` of the gateway's cores do all its work; `remove` takes that back"
    )
    version: Command | None = Field(default=None, description="prints name and version, for the report")
    describe: list[Command] = Field(default=[], description="print the configuration in force, for the report")
    timeout: Duration = Field(default=60.0, description="of each command, and of `wait_ready` as a whole")

    @model_validator(mode="after")
    def _clears_what_it_keeps(self) -> CommandConfig:
        if self.stateful and not self.clear:
            raise ValueError("a stateful gateway needs `clear`: the table is emptied before every trial")
        if not self.stateful and (self.clear or self.count):
            raise ValueError("`clear` and `count` are of a gateway with `stateful: true`; add that, or remove them")
        return self

    @property
    def keeps_connections(self) -> bool | None:
        return self.stateful

    @property
    def hides_left(self) -> bool:
        return self.masquerades

    @property
    def translations(self) -> frozenset[TranslationKind | None]:
        """What it is asked for is the user's to know."""
        return frozenset({None, *TranslationKind})
