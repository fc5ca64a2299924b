# SPDX-License-Identifier: Apache-2.0
"""Settings of a gateway that is controlled by the user's own commands."""

from __future__ import annotations

import re
from ipaddress import IPv6Network
from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, Field, model_validator

from natxy.plan.gateways.base import GatewayModel
from natxy.plan.gateways.softwire import UNUSED_ROUTING_HEADER_BYTES
from natxy.plan.model.addresses import EmbeddingPrefix
from natxy.plan.model.terms import SoftwireEnd, TranslationKind
from natxy.plan.model.units import Duration

_OF_PATH: Final = frozenset({
    "pool", "pool_first", "pool_last", "mapped_ipv4", "mapped_ipv6", "softwire_own", "softwire_far",
    "softwire_carries", "rule_ipv4", "rule_ipv6", "rule_ea_length", "rule_offset",
})  # fmt: skip
_OF_BINDING: Final = frozenset({
    "binding_ipv4", "binding_b4", "binding_psid", "binding_psid_length", "binding_offset",
})  # fmt: skip


def _known(word: str) -> str:
    if "\0" in word:
        raise ValueError("expected text without a NUL, which no word of a command can have")
    known = _OF_PATH | _OF_BINDING
    for name in re.findall(r"\{((?:pool|mapped|softwire|rule|binding)_\w+)\}", word):
        if name not in known:
            raise ValueError(f"{{{name}}} stands for nothing; expected one of {', '.join(sorted(known))}")
    return word


Command = Annotated[list[Annotated[str, AfterValidator(_known)]], Field(min_length=1)]


class CommandConfig(GatewayModel):
    """Any gateway. A command is a program with its arguments, which is run on the DUT without a shell.

    In an argument, `{left}` and `{right}` are the DUT's interfaces, `{left_address}` and `{right_address}` its own
    addresses on them, `{pool}`, `{pool_first}` and `{pool_last}` the prefix of the public addresses and its ends; of a
    translation, `{prefix}` is the prefix, and `{mapped_ipv4}` and `{mapped_ipv6}` are the first mapping, without a
    length if it is one host's; in `set_cores`, `{cores}` is the number of cores. Of an end of a softwire,
    `{softwire_own}` and `{softwire_far}` are both ends, `{softwire_carries}` is the widest network to which packets go
    into it, and `{rule_ipv4}`, `{rule_ipv6}`, `{rule_ea_length}` and `{rule_offset}` are the rule of the `subscribers`.
    In `add_binding` and `remove_binding`, `{binding_ipv4}` and `{binding_b4}` are the addresses of the one subscriber,
    and `{binding_psid}`, `{binding_psid_length}` and `{binding_offset}` the ports.
    Of a DNS64 server, `{authority}` is the address of the authority that the server has to ask for `natxy.test`.
    `{env:NAME}` and `{file:/PATH}` are secrets, a variable of natxy's environment and the content of a file beside
    natxy: they are read when the command runs, are not stored, and are shown as `***`.
    """

    steers_own_cores: ClassVar[bool] = True
    tables_are_known: ClassVar[bool] = False
    most_subscribers: ClassVar = 1 << 32
    most_port_ranges: ClassVar = 1 << 32
    rests: ClassVar[bool] = False
    driver: Literal["command"] = "command"
    stateful: bool = False
    """The gateway keeps connections; needs `clear`."""
    masquerades: bool = False
    """The gateway hides the left side, which then has private addresses."""
    apply: list[Command] = Field(default=[])
    """Commands that set the gateway up."""
    remove: list[Command] = Field(default=[])
    """Commands that undo `apply`; no error when there is nothing to undo."""
    wait_ready: Command | None = None
    """Command that is repeated until it succeeds."""
    alive: Command | None = None
    """Command that fails once the gateway is gone, run after every trial; by default the interfaces and processes that
    `apply` made are looked for."""
    clear: list[Command] = Field(default=[])
    """Commands that empty the connection tracking table, or the cache of a DNS64 server."""
    count: Command | None = None
    """Command that prints the number of connections; the first number printed counts."""
    restart: list[Command] = Field(default=[])
    """Commands that reset the gateway and set it up as before; `remove` and `apply` when not given."""
    add_binding: list[Command] = Field(default=[])
    """Commands that add the binding of one subscriber of a core while traffic flows; run for each subscriber."""
    remove_binding: list[Command] = Field(default=[])
    """Commands that withdraw it."""
    set_cores: list[Command] = Field(default=[])
    """Commands that make `{cores}` of the gateway's cores do all its work; `remove` undoes that."""
    version: Command | None = None
    """Command that prints the name and version, for the report."""
    describe: list[Command] = Field(default=[])
    """Commands that print the configuration in force, for the report."""
    dns64: EmbeddingPrefix | None = None
    """Prefix of a DNS64 server that `apply` starts, for `dns64-rate`; default: the commands set up a gateway."""
    timeout: Duration = 60.0
    """Limit for each command, and for `wait_ready` as a whole."""

    @model_validator(mode="after")
    def _clears_what_it_keeps(self) -> CommandConfig:
        if self.stateful and not self.clear:
            raise ValueError("a stateful gateway needs `clear`: natxy empties the table before every trial")
        if not self.stateful and (self.count or (self.clear and not self.dns64)):
            raise ValueError("`clear` and `count` need `stateful: true`; add it, or remove them")
        return self

    @model_validator(mode="after")
    def _adds_what_it_removes(self) -> CommandConfig:
        if bool(self.add_binding) != bool(self.remove_binding):
            raise ValueError(
                "a change withdraws bindings and adds others; give both `add_binding` and `remove_binding`"
            )
        if any("{binding_" in word for command in self._of_gateway for word in command):
            raise ValueError("{binding_…} is one subscriber's; only `add_binding` and `remove_binding` have it")
        return self

    @property
    def commands(self) -> list[Command]:
        """All commands."""
        return [*self._of_gateway, *self.add_binding, *self.remove_binding]

    @property
    def _of_gateway(self) -> list[Command]:
        several = (self.apply, self.remove, self.clear, self.restart, self.set_cores, self.describe)
        single = (self.wait_ready, self.alive, self.count, self.version)
        return [*(command for each in several for command in each), *filter(None, single)]

    @property
    def translations(self) -> frozenset[TranslationKind | None]:
        return frozenset() if self.softwire_ends else frozenset({None, *TranslationKind})

    @property
    def softwire_ends(self) -> frozenset[SoftwireEnd]:
        asked_for = any(re.search(r"\{(softwire|binding)_", word) for command in self.commands for word in command)
        return frozenset(SoftwireEnd) if asked_for else frozenset()

    @property
    def changes_bindings(self) -> bool:
        return bool(self.add_binding)

    @property
    def dns64_prefix(self) -> IPv6Network | None:
        return self.dns64

    @property
    def keeps_homes_apart(self) -> bool:
        return self.stateful and self.masquerades

    @property
    def names_rule(self) -> bool:
        """True if commands have parts of the subscribers' rule."""
        return any("{rule_" in word for command in self.commands for word in command)

    @property
    def spare_mtu(self) -> int:
        # The commands may set up such a route.
        return UNUSED_ROUTING_HEADER_BYTES if self.softwire_ends else 0

    @property
    def keeps_connections(self) -> bool | None:
        return self.stateful

    @property
    def hides_left(self) -> bool:
        return self.masquerades

    @property
    def is_counted(self) -> bool:
        return self.count is not None

    @property
    def no_pool(self) -> str | None:
        return None if self.masquerades else super().no_pool
