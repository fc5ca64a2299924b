# SPDX-License-Identifier: Apache-2.0
"""Writes the configuration of Snabb's lwAFTR, in the text form of its YANG schema (snabb-softwire-v3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Final

from natxy.dut.linux.softwires import Binding
from natxy.plan.model.addresses import LinkAddresses

_SOFTWIRES: Final = "/softwire-config/binding-table/softwire"


@dataclass(frozen=True)
class Port:
    """Holds one of the two interfaces with its MAC address. The next hop is the neighbour on its link."""

    interface: str
    mac: str
    link: LinkAddresses

    def written(self, name: str) -> str:
        return f"{name} {{ ip {self.link.dut.ip}; mac {self.mac}; next-hop {{ ip {self.link.tester.ip}; }} }}"


def configured(internal: Port, external: Port, mtu: int, core: IPv6Address, bindings: Iterable[Binding]) -> str:
    """Returns the configuration: softwires end on the `internal` interface, at the address `core`."""
    lines = [
        "softwire-config {",
        "  instance {",
        f'    device "{internal.interface}";',
        f'    external-device "{external.interface}";',
        "    queue {",
        "      id 0;",
        f"      {external.written('external-interface')}",
        f"      {internal.written('internal-interface')}",
        "    }",
        "  }",
        f"  external-interface {{ mtu {mtu}; }}",
        f"  internal-interface {{ mtu {mtu}; }}",
        "  binding-table {",
        *(f"    softwire {value}" for each in bindings for value in _softwires(each, core)),
        "  }",
        "}",
    ]
    return "".join(f"{line}\n" for line in lines)


def additions(bindings: Iterable[Binding], core: IPv6Address) -> Iterator[str]:
    """Yields the arguments with which `snabb config add` adds the softwires of bindings, after the instance's name."""
    yield from (f"{_SOFTWIRES} {value}" for each in bindings for value in _softwires(each, core))


def removals(bindings: Iterable[Binding]) -> Iterator[str]:
    """Yields the argument with which `snabb config remove` removes each softwire of bindings."""
    yield from (f"{_SOFTWIRES}[ipv4={address}][psid={each.ports.psid}]" for each in bindings for address in each.inner)


def _softwires(binding: Binding, core: IPv6Address) -> Iterator[str]:
    """Yields what a softwire has, for each address of a binding."""
    ports = binding.ports
    # Without a PSID, an offset would take ports away from a subscriber who has all of them.
    reserved = f" reserved-ports-bit-count {ports.offset};" if ports.psid_length else ""
    port_set = f"port-set {{ psid-length {ports.psid_length};{reserved} }}"
    ends = f"b4-ipv6 {binding.far}; br-address {core};"
    yield from (f"{{ ipv4 {each}; psid {ports.psid}; {ends} {port_set} }}" for each in binding.inner)
