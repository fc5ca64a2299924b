# SPDX-License-Identifier: Apache-2.0
"""Settings of DNS64 servers, which give IPv6 hosts addresses for names that have IPv4 addresses only (RFC 6147)."""

from __future__ import annotations

from ipaddress import IPv6Network
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from natxy.plan.gateways.neighbors import NeighborsModel
from natxy.plan.model.addresses import WELL_KNOWN_PREFIX, EmbeddingPrefix

# Those of RFC 6052 §2.2 that a server which embeds whole addresses alone has.
_ONLY_96: Final = frozenset({96})

Threads = Annotated[int, Field(ge=1, le=256)]


class Dns64Model(NeighborsModel):
    """A server that natxy starts on the DUT, and that asks the tester's right port for the names of `natxy.test`."""

    prefix: EmbeddingPrefix = WELL_KNOWN_PREFIX
    """Prefix before the IPv4 addresses in the server's answers."""
    threads: Threads | None = None
    """Threads, or processes, that serve; default: the experiment's `cores`, or one."""

    @property
    def dns64_prefix(self) -> IPv6Network | None:
        return self.prefix


class UnboundConfig(Dns64Model):
    """Unbound with its modules `dns64` and `iterator`."""

    driver: Literal["unbound"] = "unbound"


class Bind9Config(Dns64Model):
    """BIND 9 with `dns64`."""

    driver: Literal["bind9"] = "bind9"


class PdnsRecursorConfig(Dns64Model):
    """PowerDNS Recursor with `dns64-prefix`."""

    embedding_lengths: ClassVar[frozenset[int]] = _ONLY_96
    driver: Literal["pdns-recursor"] = "pdns-recursor"


class KnotResolverConfig(Dns64Model):
    """Knot Resolver with its module `dns64`."""

    embedding_lengths: ClassVar[frozenset[int]] = _ONLY_96
    driver: Literal["knot-resolver"] = "knot-resolver"
