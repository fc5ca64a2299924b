# SPDX-License-Identifier: Apache-2.0
"""A gateway that is set up, emptied, counted and described by the user's own commands."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Sequence

from natxy.addressing.map_rules import MapRule
from natxy.addressing.subscriber_ranges import SubscriberRange, changed
from natxy.dut.base import Capability, DutDescription, Gateway
from natxy.dut.linux.made import Existing, existing, gone
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.secrets import Secrets, unreadable_secrets
from natxy.errors import DutError, GatewayDiedError
from natxy.plan.gateways.command import Command, CommandConfig
from natxy.plan.model.addresses import IPNetwork


def _host_or_network(network: IPNetwork) -> str:
    return str(network[0] if network.num_addresses == 1 else network)


class CommandGateway(Gateway[CommandConfig]):
    """Runs the commands of the plan.

    Secrets that arguments refer to are in none of its errors and descriptions. `clear` is verified by `count`. Without
    `count` it trusts the user's commands, and the description says so.
    """

    name = "command"
    summary = "any gateway: your own commands set it up, empty its table, count its connections and describe it"
    position = 200

    @classmethod
    def capabilities_of(cls, config: CommandConfig) -> frozenset[Capability]:
        given = {
            Capability.CLEAR: config.clear,
            Capability.COUNT: config.count,
            Capability.SET_CORES: config.set_cores,
        }
        return frozenset(capability for capability, commands in given.items() if commands)

    @classmethod
    def programs(cls, config: CommandConfig) -> dict[str, str]:
        return {command[0]: "install it, or correct the gateway's commands" for command in config.commands}

    @classmethod
    def unreadable_secrets(cls, config: CommandConfig) -> list[str]:
        return [*dict.fromkeys(reason for command in config.commands for reason in unreadable_secrets(command))]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._secrets = Secrets()
        # What the DUT had before `apply`, and what of the gateway is there since it was last ready.
        self._before: Existing | None = None
        self._unbound: tuple[SubscriberRange, ...] = ()
        self._made = Existing()
        pool = self.addresses.public
        self._meanings = {
            "{left}": self.interfaces.left,
            "{right}": self.interfaces.right,
            "{left_address}": str(self.addresses.left.dut.ip),
            "{right_address}": str(self.addresses.right.dut.ip),
            "{pool}": str(pool),
            "{pool_first}": str(pool[0]),
            "{pool_last}": str(pool[-1]),
        }
        if self.config.dns64:
            self._meanings["{authority}"] = str(self.addresses.right.tester.ip)
        if translation := self.addresses.translation:
            self._meanings["{prefix}"] = str(translation.prefix)
            for mapping in translation.mappings[:1]:
                self._meanings["{mapped_ipv4}"] = _host_or_network(mapping.ipv4)
                self._meanings["{mapped_ipv6}"] = _host_or_network(mapping.ipv6)
        if softwire := self.addresses.softwire:
            self._meanings |= {"{softwire_own}": str(softwire.own), "{softwire_far}": str(softwire.far)}
            if softwire.carries:
                # The others lie within it: a link's network, and the hosts behind the link.
                widest = min(softwire.carries, key=lambda network: network.prefixlen)
                self._meanings["{softwire_carries}"] = str(widest)
            if isinstance(rule := softwire.subscribers, MapRule):
                self._meanings |= {
                    "{rule_ipv4}": str(rule.ipv4),
                    "{rule_ipv6}": str(rule.ipv6),
                    "{rule_ea_length}": str(rule.ea_length),
                    "{rule_offset}": str(rule.offset),
                }

    def apply(self) -> None:
        # Asked once, so that a reset is no longer than its commands.
        if self._before is None and self.config.alive is None and self.config.apply:
            self._before = existing(self.transport)
        self._unbound = ()
        with self.removed_on_error():
            self._run_all(self.config.apply)

    def remove(self) -> None:
        self._made = Existing()
        self._run_all(self.config.remove)

    def restart(self) -> None:
        if not self.config.restart:
            super().restart()
            return
        self._unbound = ()
        self._run_all(self.config.restart)
        self.wait_ready()

    def set_unbound(self, without: Sequence[SubscriberRange]) -> None:
        """Runs the plan's commands for each subscriber that loses or gets a binding.

        DutError if one fails: then the gateway was restarted, so that all subscribers have theirs.
        """
        withdrawn, added = changed(self._unbound, without)
        try:
            for commands, ranges in ((self.config.remove_binding, withdrawn), (self.config.add_binding, added)):
                for one in (subscriber for each in ranges for subscriber in each):
                    self._meanings |= {
                        "{binding_ipv4}": str(one.ipv4),
                        "{binding_b4}": str(one.address),
                        "{binding_psid}": str(one.ports.psid),
                        "{binding_psid_length}": str(one.ports.psid_length),
                        "{binding_offset}": str(one.ports.offset),
                    }
                    self._run_all(commands)
        except DutError:
            self.restart()
            raise
        self._unbound = (*without,)

    def set_cores(self, cores: Sequence[int]) -> None:
        self._meanings["{cores}"] = str(len(cores))
        self._run_all(self.config.set_cores)
        self.wait_ready()

    def wait_ready(self) -> None:
        """Repeats the plan's command until it succeeds. A DUT that cannot be reached, as it boots, is not ready."""
        if self.config.wait_ready is not None:
            self._repeat(self.config.wait_ready)
        if self._before is not None:
            self._made = existing(self.transport) - self._before

    def check_alive(self) -> None:
        """Runs the plan's `alive`. Without that, looks for the interfaces and processes which `apply` made."""
        if self.config.alive is not None:
            done = self._run(self.config.alive, check=False)
            if done.returncode != 0:
                output = self._secrets.masked((done.stderr or done.stdout).strip()) or "nothing"
                raise GatewayDiedError(f"its `alive` failed with exit code {done.returncode}; it printed: {output}")
        elif self._made and (missing := gone(self._made, existing(self.transport))):
            raise GatewayDiedError(missing)

    def describe(self) -> DutDescription:
        version = "unknown: the plan has no `version`"
        if self.config.version:
            version = self._secrets.masked(self._run(self.config.version).stdout.strip())
        configuration = "\n".join(
            f"# {shlex.join(done.argv)}\n{self._secrets.masked(done.stdout).rstrip()}"
            for done in map(self._run, self.config.describe)
        )
        settings = {"set up by": self._shown(*self.config.apply) or "–"}
        if self.config.stateful:
            verified_by = self._shown(self.config.count) if self.config.count else "nothing; the plan has no `count`"
            settings |= {"emptied by": self._shown(*self.config.clear), "verified empty by": verified_by}
        return DutDescription(self.name, version, settings, configuration)

    def clear(self) -> None:
        deadline = time.monotonic() + self.config.timeout
        self._run_all(self.config.clear)
        while entries := self.count():
            if time.monotonic() > deadline:
                raise DutError(
                    f"the gateway still counts {entries} connections {self.config.timeout:g} s after `clear`; "
                    "check that its commands empty the whole table, and that `count` counts connections alone"
                )
            time.sleep(0.02)

    def count(self) -> int | None:
        if self.config.count is None:
            return None
        return self._run(self.config.count).number()

    def _repeat(self, command: Command) -> None:
        """Runs the command until it succeeds."""
        deadline = time.monotonic() + self.config.timeout
        while True:
            try:
                self._run(command)
                return
            except DutError as error:
                if time.monotonic() > deadline:
                    raise DutError(f"the gateway was not ready within {self.config.timeout:g} s: {error}") from error
            time.sleep(0.1)

    def _run_all(self, commands: list[Command]) -> None:
        for command in commands:
            self._run(command)

    def _run(self, command: Command, *, check: bool = True) -> CompletedCommand:
        return self._secrets.run(self.transport, self._meant(command), timeout_s=self.config.timeout, check=check)

    def _shown(self, *commands: Command) -> str:
        return "; ".join(shlex.join(self._meant(command)) for command in commands)

    def _meant(self, command: Command) -> list[str]:
        return [re.sub(r"\{\w+\}", lambda found: self._meanings.get(found[0], found[0]), word) for word in command]
