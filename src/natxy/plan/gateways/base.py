# SPDX-License-Identifier: Apache-2.0
"""The base of all gateways' settings: the facts that check a plan without a machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv6Network
from typing import ClassVar, Final

from natxy.addressing.embedding import LENGTHS
from natxy.addressing.port_sets import PortSet
from natxy.plan.frames.forms import Protocol
from natxy.plan.model.base import PlanModel
from natxy.plan.model.problems import Location
from natxy.plan.model.terms import Kernel, MapEnd, SoftwireEnd, TranslationKind

FIRST_PORT: Final = 1024
LAST_PORT: Final = 65535
"""The ports of a public address that NAT gives to connections whose own ports are 1024 or higher."""
PORTS_PER_ADDRESS: Final = LAST_PORT - FIRST_PORT + 1
MOST_POOL_ADDRESSES: Final = 65_536


@dataclass(frozen=True)
class TableNeed:
    """Holds the requirements of a plan on a connection tracking table.

    `endpoints` counts the addresses and ports of the left side that connections come from, `remote_endpoints` those of
    the right side that they go to; `hosts` and `remote_hosts` count the addresses alone, and `softwires` a core's
    subscribers. `longest_trial_s` is phase 1 + gap + phase 2, or the longest time without a frame of a connection where
    that is known. Connections are of `protocol`.
    """

    connections: int
    endpoints: int
    remote_endpoints: int
    longest_trial_s: float
    hosts: int = 1
    remote_hosts: int = 1
    softwires: int = 1
    protocol: Protocol = Protocol.UDP


class GatewayModel(PlanModel):
    """Declares a driver: its settings, and facts about it. A plan names it by `driver` and cannot set the facts."""

    driver: str

    is_gateway: ClassVar[bool] = True
    """False if nothing forwards: the tester's ports are joined, and the tester itself is measured."""
    is_played: ClassVar[bool] = False
    """True for a box of a chain that the tester plays, so that nothing is set up for it."""
    is_router: ClassVar[bool] = False
    """True if it only forwards, so that RFC 2544 §12 asks for a run with 256 destination networks."""
    system: ClassVar[str | None] = None
    """The operating system that it is part of; None if it is not bound to one that natxy knows."""
    untried: ClassVar[str | None] = None
    """Ends a sentence on what its driver has not met yet; None if it has measured the gateway itself."""
    on_other_machine: ClassVar[bool] = False
    """True if it needs a machine of its own, reached over ssh."""
    takes_well_known_prefix: ClassVar[bool] = True
    """False if it refuses prefixes of 64:ff9b::/47: the well-known one where IPv4 addresses are not global (RFC 6052
    §3.1), and the others, such as that of RFC 8215, at all."""
    embedding_lengths: ClassVar[frozenset[int]] = frozenset(LENGTHS)
    """The lengths of a `prefix` with which it translates (RFC 6052 §2.2)."""
    sends_zero_checksums: ClassVar[bool] = False
    """True if it sends UDP checksums of 0 to IPv6, which have to be 0xFFFF there (RFC 8200 §8.1)."""
    keeps_conntrack: ClassVar[bool] = False
    """True if it keeps its connections in Linux's connection tracking table."""
    needs_pool: ClassVar[bool] = False
    """True if no address of its interfaces can be one of its public addresses."""
    serves_pairs: ClassVar[bool] = False
    """True if it can forward between several pairs of interfaces at the same time."""
    steers_own_cores: ClassVar[bool] = False
    """True if its driver accepts any number of cores, because the user's commands assign them."""
    bypasses_kernel: ClassVar[bool] = False
    """True if it has its frames from the interfaces themselves, so that the kernel forwards none."""
    takes_given_psid: ClassVar[bool] = True
    """False if, as an end of MAP-T, it can't be told a PSID that is not among the EA bits (RFC 7597 §5.1)."""
    tables_are_known: ClassVar[bool] = True
    """False if natxy does not know how long it keeps connections, how many, and in which ports."""
    usual_table_sizes: ClassVar[Mapping[str, int]] = {}
    """The system's own greatest number of connections, which holds where the plan sets none, by the setting's name."""
    usual_lifetimes_s: ClassVar[Mapping[str, int]] = {}
    usual_tcp_lifetimes_s: ClassVar[Mapping[str, int]] = {}
    """The system's own lifetimes of connections in seconds, likewise."""

    @property
    def cuts_long_packets(self) -> bool:
        """True if it sends IPv4 packets without DF to IPv6 in fragments of at most 1280 bytes, and natxy can set no
        larger MTU (RFC 7915 §4)."""
        return False

    def on_one_machine(self) -> GatewayModel:
        """Returns the gateway as it is when all gateways of a chain share a machine."""
        return self

    @property
    def module(self) -> str | None:
        """The kernel module that it needs and that a kernel may lack; None if there is none."""
        return None

    @property
    def module_remedy(self) -> str:
        """Says what to do where the module is missing."""
        return ""

    @property
    def in_virtual_time(self) -> bool:
        """True for a model that runs only on the simulated testbed."""
        return False

    @property
    def is_probed(self) -> bool:
        """False for natxy's own gateways, which do to each frame what the plan says: no frames are sent before a
        trial."""
        return True

    @property
    def polls(self) -> bool:
        """True for natxy's own program, which runs beside the tester and polls the DUT's ports without rest."""
        return False

    @property
    def dns64_prefix(self) -> IPv6Network | None:
        """The prefix before the IPv4 addresses that a DNS64 server answers; None for what is no such server. A server
        forwards no frames, and the tester asks it queries."""
        return None

    @property
    def rests(self) -> bool:
        """True if the gateway keeps no core busy while no frames come, so that others can be measured beside it."""
        return not self.polls

    @property
    def softwire_ends(self) -> frozenset[SoftwireEnd]:
        """The ends of a softwire that it can be, beside a gateway that is the other end."""
        return frozenset()

    @property
    def map_ends(self) -> frozenset[MapEnd]:
        """The ends of MAP-T that it can be, beside a gateway that is the other end."""
        return frozenset()

    @property
    def changes_bindings(self) -> bool:
        """True if its driver changes the bindings of subscribers while traffic flows, of softwires or of MAP-T."""
        return False

    @property
    def needs_table_to_change(self) -> bool:
        """True if it computes the subscribers of a mapping rule, so that only those of a table have bindings."""
        return False

    @property
    def most_subscribers(self) -> int:
        """The subscribers that it serves as the core of a softwire, each with an address of its own."""
        return 1

    @property
    def keeps_homes_apart(self) -> bool:
        """True if, as the core of softwires, it tells connections of homes with one address apart (RFC 6333 §6.6)."""
        return False

    @property
    def most_port_ranges(self) -> int:
        """The ranges of ports that all subscribers have together if they share addresses."""
        return 0

    @property
    def spare_mtu(self) -> int:
        """The bytes by which its links' MTU has to be larger than the longest packet."""
        return 0

    @property
    def most_shared_addresses(self) -> int | None:
        """The IPv4 addresses that all subscribers have together; None for any number."""
        return None

    @property
    def most_psids(self) -> int | None:
        """The subscribers that share an IPv4 address; None for any number."""
        return None

    @property
    def mapping_prefix(self) -> IPv6Network | None:
        """The prefix of the default mapping rule, where it is an end of MAP-T and has one of its own."""
        return None

    @property
    def boxes(self) -> tuple[GatewayModel, ...]:
        """The boxes of a chain, from left to right, those that the tester plays included; itself, unless it is one."""
        return (self,)

    @property
    def hops(self) -> tuple[GatewayModel, ...]:
        """The gateways that frames cross one after the other, from left to right: itself, unless it is a chain."""
        return (self,)

    @property
    def located_hops(self) -> tuple[tuple[Location, GatewayModel], ...]:
        """The hops, each with its place in this gateway's settings."""
        return (((), self),)

    @property
    def title(self) -> str:
        """The name in texts for people."""
        return self.driver

    @property
    def hop_titles(self) -> tuple[str, ...]:
        """The name of each hop in texts for people; no two are the same."""
        return (self.title,)

    @property
    def keeps_connections(self) -> bool | None:
        """True for a stateful gateway, through which only established connections have replies; None for one that
        forwards traffic with and without connections."""
        return False

    @property
    def hides_left(self) -> bool:
        """True if it replaces the left side's addresses by its own; the left side is then private by default."""
        return False

    @property
    def has_private_left(self) -> bool:
        """True if the left side is private by default: the gateway hides it, or the box that the tester plays does."""
        return self.hides_left

    @property
    def is_counted(self) -> bool:
        """True if its driver counts the connections that it keeps."""
        return bool(self.keeps_connections)

    @property
    def drops_unknown_replies(self) -> bool:
        """True if a frame from the right passes only while the table holds its connection."""
        return bool(self.keeps_connections) and self.hides_left

    @property
    def translations(self) -> frozenset[TranslationKind | None]:
        """The translations between address families that it supports; None is traffic of one family."""
        return frozenset({None})

    @property
    def lab_kernel(self) -> Kernel | None:
        """The kernel it runs on in a lab; None to choose one that has `module`."""
        return Kernel.OWN

    @property
    def table_sizes(self) -> dict[str, int]:
        """The greatest number of connections that the plan sets, by the name of the setting."""
        return {}

    @property
    def lifetimes_s(self) -> dict[str, int]:
        """The lifetimes of UDP connections in seconds that the plan sets, by the name of the setting."""
        return {}

    @property
    def tcp_lifetimes_s(self) -> dict[str, int]:
        """The lifetimes of open TCP connections in seconds that the plan sets, by the name of the setting."""
        return {}

    def lifetimes_of(self, protocol: Protocol) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """Returns the lifetimes of a protocol's connections: those that the plan sets, and those of the system."""
        udp = protocol == Protocol.UDP
        planned, usual = (
            (self.lifetimes_s, self.usual_lifetimes_s) if udp else (self.tcp_lifetimes_s, self.usual_tcp_lifetimes_s)
        )
        return planned, {name: lifetime_s for name, lifetime_s in usual.items() if name not in planned}

    def clearing_s(self, connections: int) -> float:
        """Returns about how many seconds emptying a table with this many connections takes; 0 if only a moment."""
        del connections
        return 0.0

    def table_bytes(self, need: TableNeed) -> int | None:
        """Returns about how much memory a table with these connections takes; None if unknown."""
        del need
        return None

    def ports_needed(self, need: TableNeed, kind: TranslationKind | None) -> int | None:
        """Returns how many ports of public addresses the connections take; None if it has no pool of ports."""
        del need, kind
        return None

    @property
    def ports_of_address(self) -> int:
        """The ports of a public address that it gives to connections."""
        return PORTS_PER_ADDRESS

    @property
    def own_ports(self) -> PortSet | None:
        """The ports of a shared public address that it gives to connections; None if its settings name none."""
        return None

    @property
    def no_pool(self) -> str | None:
        """The reason why it can't take the public addresses of an `addresses.pool`; None if it can."""
        return f"{self.driver} takes no pool of public addresses; remove it"

    @property
    def tells_sides_by_interface(self) -> bool:
        """True if it treats traffic of the two sides differently by their interfaces, so that it needs two of them."""
        return False

    @property
    def most_hosts(self) -> dict[str, int]:
        """The greatest number of left hosts that it can give an address of their own, by the name of the setting."""
        return {}

    def addresses_in_use(self, need: TableNeed, pool: int) -> float:
        """Returns how many of a pool's addresses can be counted on for the connections' ports.

        It is fewer than `pool` where the gateway chooses a connection's address without regard to free ports, or does
        not find every free port.
        """
        del need
        return pool

    def why_not_all(self, need: TableNeed, in_use: float) -> str:
        """Returns which ports of a pool can be counted on, and why, if not all."""
        if need.hosts == 1:
            return "those of one address, because the gateway chooses it by a hash of the host's"
        return (
            f"those of {in_use:.3g} addresses, because the gateway chooses them by a hash, and some get more of the "
            f"{need.hosts:,} left hosts than others"
        )

    def refusals(self, need: TableNeed, pool: int) -> Iterator[str]:
        """Yields the reasons why it may refuse connections at any rate although its table has room for them.

        `pool` is the number of public addresses.
        """
        del need, pool
        yield from ()

    def only_port(self, kind: TranslationKind) -> int | None:
        """Returns the one destination port that it translates in a translation of this kind; None for any port."""
        del kind
        return None


def addresses_by_hash(hosts: int, pool: int, cells: int) -> float:
    """Returns how many of a pool's addresses can be counted on if each of `hosts` has one, chosen by a hash.

    The address with the most hosts runs out of ports first. `cells` is how often there is such an address: the hosts
    are spread once for each destination where the hash has that too. The number holds in 99 of 100 cases.
    """
    mean = hosts / pool
    # Chernoff's bound for the hosts of one address: P(more than most) ≤ exp(more − mean − more·ln(more/mean)).
    most = math.ceil(mean)
    while most < hosts and (most + 1) * math.log((most + 1) / mean) - most - 1 + mean < math.log(100 * cells):
        most += 1
    return hosts / most


def ports_per_destination(need: TableNeed) -> int:
    """Returns the ports that connections take where those to different destinations can share a port."""
    return min(need.endpoints, -(-need.connections // need.remote_endpoints))
