# SPDX-License-Identifier: Apache-2.0
"""Settings of gateways that the Linux kernel provides: plain forwarding, and NAT by nftables or iptables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field, field_validator, model_validator

from natxy.addressing.port_sets import PortSet
from natxy.plan.gateways.base import PORTS_PER_ADDRESS, TableNeed, addresses_by_hash, ports_per_destination
from natxy.plan.gateways.neighbors import NeighborsModel
from natxy.plan.model.port_set import PortSetModel
from natxy.plan.model.table_size import TableSize
from natxy.plan.model.terms import Kernel, TranslationKind

# Measured on Linux 6.1 and 6.18, by tools/table_memory.py: 256 bytes, and 128 for the extensions that NAT needs. Older
# kernels took less: with 400 million connections on Linux 4.9, the DUT of draft-lencse-v6ops-transition-scalability-03
# (§2.4) took "below 150GB".
_ENTRY_BYTES: Final = 384
_BUCKET_BYTES: Final = 8
# The slowest published rates (the same, Figure 5).
_DELETED_PER_S: Final = 345_000
_EMPTY_BUCKETS_PER_S: Final = 8e6
# nf_ct_alloc_hashtable: whole pages of buckets, UINT_MAX bytes together; since 2025 INT_MAX, half as many.
_MOST_BUCKETS: Final = 2**29 - 512
# nf_conntrack_init_start on machines with more than 4 GB. Smaller ones have fewer, mostly 65,536.
_USUAL_ENTRIES: Final = 262_144
# There are as many where the DUT was not set up otherwise.
_USUAL_BUCKETS: Final = _USUAL_ENTRIES
# nf_conntrack_core.c, __nf_conntrack_confirm: a chain has 50 to 79 entries at most, two of each connection. With so
# many connections a bucket, a chain of 50 is rarer than one in a thousand million.
_MOST_A_BUCKET: Final = 10
# The ports that the kernel's search tries one after the other, before it goes on at another place.
_FIRST_WINDOW: Final = 128
# Share of an address's ports; in a simulation of the kernel's search, every search below it found a port.
_MOST_TAKEN: Final = 0.8
# proc_dointvec_jiffies: INT_MAX ticks, of which a kernel has up to 1,000 a second.
_LifetimeS = Annotated[int, Field(ge=1, le=2_147_483)]
_TCP_TIMEOUTS: Final = "tcp_timeouts_s"
USUAL_TCP_LIFETIMES_S: Final = {"syn_sent": 120, "syn_recv": 60, "established": 432_000, "unacknowledged": 300}
"""The lifetimes of connections that a handshake makes, by their states as the kernel names them. Nothing acknowledges
the data in the last segment of natxy's handshakes."""
# As the kernel names them.
_TcpState = Literal[
    "syn_sent", "syn_recv", "established", "unacknowledged", "max_retrans", "fin_wait", "close_wait", "last_ack",
    "time_wait", "close",
]  # fmt: skip


class KernelModel(NeighborsModel):
    """Settings of a gateway that also runs in user-mode Linux."""

    kernel: Kernel | None = None
    """Kernel of the gateway in a lab: the machine's `own`, or one in `user-mode`; automatic: the machine's own, unless
    the gateway needs a module that it lacks."""

    @property
    def lab_kernel(self) -> Kernel | None:
        return self.kernel


class ConntrackModel(NeighborsModel):
    """Settings of a gateway that keeps its connections in Linux's connection tracking table.

    A setting that is not given keeps its value on the DUT.
    """

    keeps_conntrack: ClassVar[bool] = True
    keeps_connections: ClassVar = True
    usual_table_sizes: ClassVar[Mapping[str, int]] = {"conntrack_max": _USUAL_ENTRIES}
    usual_lifetimes_s: ClassVar[Mapping[str, int]] = {"udp_timeout_s": 30, "udp_stream_timeout_s": 120}
    usual_tcp_lifetimes_s: ClassVar[Mapping[str, int]] = {
        f"{_TCP_TIMEOUTS}.{state}": lifetime_s for state, lifetime_s in USUAL_TCP_LIFETIMES_S.items()
    }

    conntrack_max: TableSize | None = None
    """Size of the table, nf_conntrack_max; unchanged when not given."""
    hash_size: TableSize | None = None
    """Size of its hash table, nf_conntrack_buckets; unchanged when not given."""
    udp_timeout_s: _LifetimeS | None = None
    """Lifetime of an idle connection of UDP, nf_conntrack_udp_timeout."""
    udp_stream_timeout_s: _LifetimeS | None = None
    """Lifetime of one with replies that was used two seconds after it was opened, nf_conntrack_udp_timeout_stream."""
    tcp_timeouts_s: dict[_TcpState, _LifetimeS] = Field(default={})
    """Lifetimes of idle connections of TCP by their state, such as {established: 600}, nf_conntrack_tcp_timeout_…."""

    @field_validator("hash_size")
    @classmethod
    def _buckets(cls, given: int | None) -> int | None:
        if given is not None and given > _MOST_BUCKETS:
            raise ValueError(
                f"the kernel allows at most {_MOST_BUCKETS:,} buckets, and since 2025 half as many, not {given:,}; "
                "lower it"
            )
        return given

    @property
    def hides_left(self) -> bool:
        return True

    @property
    def table_sizes(self) -> dict[str, int]:
        return {} if self.conntrack_max is None else {"conntrack_max": self.conntrack_max}

    @property
    def lifetimes_s(self) -> dict[str, int]:
        lifetimes_s = {"udp_timeout_s": self.udp_timeout_s, "udp_stream_timeout_s": self.udp_stream_timeout_s}
        return {name: lifetime_s for name, lifetime_s in lifetimes_s.items() if lifetime_s is not None}

    @property
    def tcp_lifetimes_s(self) -> dict[str, int]:
        return {
            f"{_TCP_TIMEOUTS}.{state}": lifetime_s
            for state, lifetime_s in self.tcp_timeouts_s.items()
            if state in USUAL_TCP_LIFETIMES_S
        }

    def clearing_s(self, connections: int) -> float:
        return connections / _DELETED_PER_S + (self.hash_size or 0) / _EMPTY_BUCKETS_PER_S

    def table_bytes(self, need: TableNeed) -> int | None:
        return _ENTRY_BYTES * need.connections + _BUCKET_BYTES * (self.hash_size or 0)

    def ports_needed(self, need: TableNeed, kind: TranslationKind | None) -> int | None:
        # nf_nat_core.c, get_unique_tuple: a port that no other host has is kept, also one below 1024.
        return min(ports_per_destination(need), PORTS_PER_ADDRESS) if need.hosts == 1 else ports_per_destination(need)

    def refusals(self, need: TableNeed, pool: int) -> Iterator[str]:
        buckets = self.hash_size or _USUAL_BUCKETS
        if need.connections > _MOST_A_BUCKET * buckets:
            usual = "" if self.hash_size else " that the kernel has by default"
            a_bucket = need.connections / buckets
            yield (
                f"the {need.connections:,} connections are {a_bucket:.3g} for each of the {buckets:,} "
                f"hash buckets{usual}, and Linux since 5.15 refuses more than 25 to 40 in one, whatever the rate "
                f"(chaintoolong of `conntrack -S`); set hash_size to at least {-(-need.connections // _MOST_A_BUCKET)}"
            )
        in_use = self.addresses_in_use(need, pool)
        if self.ports_needed(need, None) is not None and _searches_fail(need, in_use):
            taken = ports_per_destination(need) / in_use
            yield (
                f"{need.hosts:,} left hosts with the same source ports need {taken:,.0f} of the "
                f"{PORTS_PER_ADDRESS:,} ports of one public address to one destination: where a host's port is taken, "
                "Linux tries 248 others and then drops the connection, whatever the rate (insert_failed of "
                "`conntrack -S`); give more `right_hosts` or destination ports, or ask for fewer connections"
            )

    def addresses_in_use(self, need: TableNeed, pool: int) -> float:
        # nf_nat_core.c, find_best_ips_proto: a hash of the two hosts' addresses, whatever ports are free.
        return addresses_by_hash(need.hosts, pool, pool * need.remote_hosts)


def _searches_fail(need: TableNeed, addresses: float) -> bool:
    """Returns True if Linux, which looks for a port in at most five windows of 128 to 8 ports at random places
    (nf_nat_core.c, nf_nat_l4proto_unique_tuple), may find none for one connection or more.

    It keeps a host's own port if that is free, so that the hosts' source ports are a block without free ports in the
    end, and a search fails if its windows are in the block, or the short ones beside it. Elsewhere, windows without a
    free port are rare until most ports are taken.
    """
    hosts = need.hosts / addresses
    to_one = ports_per_destination(need)
    taken = to_one / addresses
    if hosts <= 1:
        return False
    block = min(need.endpoints / need.hosts, taken) / PORTS_PER_ADDRESS
    searches = (1 - 1 / hosts) * need.connections
    return searches * block**4 >= 1 or taken > _MOST_TAKEN * PORTS_PER_ADDRESS


class LinuxForwardConfig(KernelModel):
    """The Linux kernel's IPv4 and IPv6 forwarding: the baseline of every report."""

    is_router: ClassVar[bool] = True
    serves_pairs: ClassVar[bool] = True
    driver: Literal["linux-forward"] = "linux-forward"


class NftablesConfig(ConntrackModel):
    """nftables with connection tracking: NAT44, or NAT66 where the plan's family is ipv6, to the interface's address or
    to the pool of the plan's addresses; or a stateful filter without NAT."""

    serves_pairs: ClassVar[bool] = True
    driver: Literal["nftables"] = "nftables"
    nat: bool = True
    """False for a filter that lets connections of the left side pass, untranslated, and drops other traffic of the
    right side."""
    port_set: PortSetModel | None = None
    """Ports of the public address that connections get, as at the customer's end of lw4o6 and MAP-E; all when not
    given."""

    @model_validator(mode="after")
    def _translates_ports(self) -> NftablesConfig:
        if self.port_set and not self.nat:
            raise ValueError("a filter without NAT gives no ports; remove `port_set`, or `nat: false`")
        return self

    @property
    def hides_left(self) -> bool:
        return self.nat

    @property
    def own_ports(self) -> PortSet | None:
        return self.port_set.ports if self.port_set else None

    @property
    def ports_of_address(self) -> int:
        return len(self.port_set.ports) if self.port_set else super().ports_of_address

    @property
    def tells_sides_by_interface(self) -> bool:
        return not self.nat

    @property
    def no_pool(self) -> str | None:
        return None if self.nat else super().no_pool

    def ports_needed(self, need: TableNeed, kind: TranslationKind | None) -> int | None:
        if self.port_set:
            # A host's own port is kept only if it happens to be in the set.
            return ports_per_destination(need)
        return super().ports_needed(need, kind) if self.nat else None

    def refusals(self, need: TableNeed, pool: int) -> Iterator[str]:
        yield from super().refusals(need, pool)
        if self.port_set is None:
            return
        ranges = self.port_set.ports.ranges
        taken, size = ports_per_destination(need) / len(ranges), len(ranges[0])
        if size > _FIRST_WINDOW and taken > _MOST_TAKEN * size:
            yield (
                f"{need.connections:,} connections need {taken:,.0f} of the {size:,} ports of a range of the port set "
                "to one destination: Linux tries 248 ports of a range and then drops the connection, whatever the rate "
                "(insert_failed of `conntrack -S`); give more `right_hosts` or destination ports, or ask for fewer "
                "connections"
            )


class IptablesBackend(StrEnum):
    """The kernel interface that the rule uses: iptables-legacy's own tables, or nftables through iptables-nft."""

    LEGACY = "legacy"
    NFT = "nft"


class IptablesTarget(StrEnum):
    """`masquerade` looks up the outgoing interface's address for each connection; `snat` has it in the rule, or the
    first and the last address of the plan's pool."""

    MASQUERADE = "masquerade"
    SNAT = "snat"


class IptablesConfig(ConntrackModel, KernelModel):
    """iptables NAT with connection tracking: NAT44, or NAT66 by ip6tables where the plan's family is ipv6."""

    serves_pairs: ClassVar[bool] = True
    driver: Literal["iptables"] = "iptables"
    backend: IptablesBackend = IptablesBackend.NFT
    """Program that sets the rule: iptables-nft or iptables-legacy."""
    target: IptablesTarget = IptablesTarget.MASQUERADE
    """Target of the rule that translates."""

    @property
    def no_pool(self) -> str | None:
        if self.target == IptablesTarget.SNAT:
            return None
        return "MASQUERADE takes the interface's own address; give the gateway `target: snat`, or remove the pool"
