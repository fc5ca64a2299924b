# SPDX-License-Identifier: Apache-2.0
"""Configurations with ranges so small that a few hundred frames use every value of every field."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tests.support.siitperf_confs import CONFS

FRAMES: Final = 300
SENDING: Final = f"{FRAMES} 1 300"
CONNECTIONS: Final = 60
# 60 frames in 0.06 s, up to half a second for the last of them, and phase 2 at once.
PHASE1: Final = f"{CONNECTIONS} {CONNECTIONS} 1000 500 560"


@dataclass(frozen=True)
class Case:
    """A configuration, changed; the arguments of its program, and the procedure that it becomes."""

    conf: str
    changed: dict[str, str] = field(default_factory=dict)
    size: int = 84
    n: int = 2
    m: int = 2
    phase1: str = ""
    program: str = "tp"
    last: str = ""
    procedure: str = "throughput"
    keys_of_plan: dict[str, str] = field(default_factory=dict)
    """Keys that have another meaning in the plan, as it says at its head."""

    @property
    def keys(self) -> dict[str, str]:
        return CONFS[self.conf] | _SMALL | {key.replace("_", "-"): value for key, value in self.changed.items()}

    @property
    def arguments(self) -> str:
        return f"{self.size} {SENDING} {self.n} {self.m} {self.phase1} {self.last}"

    @property
    def is_stateful(self) -> bool:
        return bool(self.phase1)

    @property
    def is_mirrored(self) -> bool:
        """Returns True if the plan's left side is siitperf's right, because that has the initiator."""
        return self.keys.get("Stateful") == "2"

    @property
    def connections(self) -> int:
        """The foreground frames of phase 1."""
        return int(self.phase1.split()[0]) * min(self.m, self.n) // self.n

    @property
    def table(self) -> int:
        return int(self.phase1.split()[1])

    def text(self, changed: dict[str, str]) -> str:
        """Returns siitperf.conf, with some keys changed."""
        return "".join(f"{key} {value}\n" for key, value in (self.keys | changed).items())


# Twelve by five ports forward, nine by seven in reverse.
_SMALL: Final = {
    "Fwd-sport-min": "1000", "Fwd-sport-max": "1011", "Fwd-dport-min": "80", "Fwd-dport-max": "84",
    "Rev-sport-min": "2000", "Rev-sport-max": "2008", "Rev-dport-min": "90", "Rev-dport-max": "96",
}  # fmt: skip
# An address that a prefix of 96 bits makes of the right's, so that a translator reaches it.
_SIIT: Final = {"IPv6_R_Virt": "2001:2:0:1000::198.19.0.2"}
_FIXED: Final = {f"{way}_var_{port}": "0" for way in ("Fwd", "Rev") for port in ("sport", "dport")}
_STEPS: Final = {"Fwd_var_sport": "1", "Fwd_var_dport": "2", "Rev_var_sport": "2", "Rev_var_dport": "1"}
_NATIVE: Final = {"IPv6_L_Real": "2001:2::2", "IPv6_R_Real": "2001:2:0:8000::2"}
_HOSTS: Final = {"IP_L_min": "10", "IP_L_max": "14", "IP_R_min": "0x20", "IP_R_max": "0x23"}
_HOSTS_OF_SIIT: Final = {
    "IP_L_var": "3", "IP_R_var": "3", "IPv6_L_offset": "14", "IPv6_R_offset": "14", "IPv4_L_offset": "2",
    "IPv4_R_offset": "2",
}  # fmt: skip
_MANY_OF_NAT44: Final = {
    "IP_L_var": "3", "IP_R_var": "3", "IPv4_L_offset": "2", "IPv4_R_offset": "2", "IP_L_min": "10", "IP_L_max": "12",
    "IP_R_min": "20", "IP_R_max": "23", "Fwd_sport_max": "1004", "Fwd_dport_max": "80",
}  # fmt: skip
_SWAPPED: Final = {
    "Stateful": "2", "Fwd_var_sport": "0", "Fwd_var_dport": "0", "Rev_var_sport": "3", "Rev_var_dport": "3",
}  # fmt: skip


def _enumerated(ports: int, tuples: int, ips: int = 0) -> dict[str, str]:
    return {"Enumerate_ports": f"{ports}", "Enumerate_ips": f"{ips}", "Responder_tuples": f"{tuples}"}


CASES: Final = {
    "SIIT, random ports": Case("siit", _SIIT),
    "SIIT, a mapped host on the right": Case("siit", keys_of_plan={"IPv6-R-Virt": "2001:2:0:1000::198.19.0.2"}),
    "SIIT, fixed ports": Case("siit", _SIIT | _FIXED),
    "SIIT, ports in order": Case("siit", _SIIT | _STEPS),
    "SIIT, forward alone": Case("siit", _SIIT | {"Reverse": "0"}),
    "SIIT, reverse alone": Case("siit", _SIIT | {"Forward": "0"}),
    "SIIT, background": Case("siit", _SIIT, n=10, m=7),
    "SIIT, many hosts": Case("siit", _SIIT | _HOSTS_OF_SIIT | _HOSTS),
    "SIIT, 512 bytes": Case("siit", _SIIT, size=512),
    "SIIT, latency": Case("siit", _SIIT, program="lat", last="0 50", procedure="latency"),
    "SIIT, IPv4 on the left": Case(
        "siit",
        {
            "IP_L_Vers": "4", "IP_R_Vers": "6", "IPv4_L_Real": "198.18.0.2", "IPv6_L_Virt": "2001:2:0:1000::198.18.0.2",
            "IPv6_R_Real": "2001:2:0:8000::2", "IPv4_R_Virt": "198.19.0.2",
        },
    ),
    "IPv4 router, fixed": Case("router-many", {"IP_L_var": "0", "IP_R_var": "0"}),
    "IPv4 router, random ports": Case("nat44", _STEPS | {"Stateful": "0", "Enumerate_ports": "0"} | {
        "Fwd_var_sport": "3", "Rev_var_dport": "3"}),
    "IPv4 router, many hosts": Case("router-many", _HOSTS),
    "IPv4 router, hosts in order": Case("router-many", _HOSTS | {"IP_L_var": "1", "IP_R_var": "2"}),
    "IPv4 router, an offset for each side": Case(
        "router-many", _HOSTS | {"IPv4_R_offset": "1", "IP_R_min": "0x1300", "IP_R_max": "0x1304"}
    ),
    "IPv4 router, networks": Case(
        "router-many", {"IP_L_var": "0", "IP_R_var": "0", "Num_L_Nets": "3", "Num_R_Nets": "5"}
    ),
    "IPv4 router, background": Case(
        "router-many", _NATIVE | {"IP_L_var": "0", "IP_R_var": "0"}, n=2, m=1
    ),
    "IPv4 router, background of many hosts": Case(
        "router-many",
        _NATIVE | _HOSTS | {"IP_R_var": "1", "IPv6_L_offset": "14", "IPv6_R_offset": "8"},
        n=2, m=1,
    ),
    "IPv4 router, 1538 bytes": Case("router-many", _HOSTS, size=1538),
    "IPv6 router, random ports": Case("pdv"),
    "IPv6 router, networks": Case("pdv", {"Num_L_Nets": "4", "Num_R_Nets": "2"}),
    "IPv6 router, hosts in the middle": Case(
        "pdv", _FIXED | _HOSTS | {"IP_L_var": "3", "IP_R_var": "1", "IPv6_L_offset": "8", "IPv6_R_offset": "6",
                         "IP_R_min": "0x80", "IP_R_max": "0x83"}
    ),
    "IPv6 router, PDV": Case("pdv", _STEPS, program="pdv", last="0", procedure="pdv"),
    "NAT44, random enumeration": Case("nat44", _enumerated(3, 3), phase1=PHASE1),
    "NAT44, increasing enumeration": Case("nat44", _enumerated(1, 1), phase1=PHASE1),
    "NAT44, decreasing enumeration": Case("nat44", _enumerated(2, 2), phase1=PHASE1),
    "NAT44, drawn connections": Case("nat44", _enumerated(0, 0), phase1=PHASE1),
    "NAT44, a part of the table": Case("nat44", _enumerated(1, 1), phase1=PHASE1.replace(" 60 ", " 25 ", 1)),
    "NAT44, a part of the space": Case(
        "nat44", _enumerated(3, 3) | {"Fwd_sport_max": "1029"}, phase1=PHASE1
    ),
    "NAT44, background": Case(
        "nat44", _NATIVE | _enumerated(3, 1), n=10, m=7, phase1=PHASE1.replace("60 60", "60 42", 1)
    ),
    "NAT44, background with ports of the responder": Case(
        "nat44", _NATIVE | _enumerated(3, 1) | {"Rev_var_sport": "1", "Rev_var_dport": "2"}, n=10, m=7,
        phase1=PHASE1.replace("60 60", "60 42", 1),
    ),
    "NAT44, hosts and ports at random": Case("nat44", _MANY_OF_NAT44 | _enumerated(3, 3, 3), phase1=PHASE1),
    "NAT44, hosts and ports in order": Case("nat44", _MANY_OF_NAT44 | _enumerated(1, 1, 1), phase1=PHASE1),
    "NAT44, hosts and ports backwards": Case("nat44", _MANY_OF_NAT44 | _enumerated(2, 0, 2), phase1=PHASE1),
    "NAT44, hosts in order, fixed ports": Case(
        "nat44",
        _MANY_OF_NAT44 | _enumerated(0, 2, 1) | {"Fwd_var_sport": "0", "Fwd_var_dport": "0"},
        phase1="12 12 1000 500 512",
    ),
    "NAT44, hosts at random, fixed ports": Case(
        "nat44",
        _MANY_OF_NAT44 | _enumerated(0, 1, 3) | {"Fwd_var_sport": "0", "Fwd_var_dport": "0"},
        phase1="12 12 1000 500 512",
    ),
    "NAT44, ports enumerated that do not vary": Case(
        "nat44", _enumerated(3, 1) | {"Fwd_var_sport": "0", "Fwd_var_dport": "0"}, phase1=PHASE1
    ),
    "NAT44, PDV of hosts and ports at random": Case(
        "nat44", _MANY_OF_NAT44 | _enumerated(3, 3, 3), phase1=PHASE1, program="pdv", last="0", procedure="pdv"
    ),
    "NAT44, latency, the right is the initiator": Case(
        "nat44", _SWAPPED | _enumerated(3, 2), phase1="63 63 1000 500 563", program="lat", last="0 50",
        procedure="latency",
    ),
    "NAT44, the right is the initiator": Case("nat44", _SWAPPED | _enumerated(3, 1), phase1="63 63 1000 500 563"),
    "NAT44, phase 1 alone": Case(
        "nat44", _enumerated(2, 1) | {"Forward": "0", "Reverse": "0"}, phase1=PHASE1, procedure="connection-rate"
    ),
    "NAT64, random enumeration": Case("nat64", _enumerated(3, 3), phase1=PHASE1),
    "NAT64, increasing enumeration": Case("nat64", _enumerated(1, 2), phase1=PHASE1),
    "NAT64, hosts at random": Case(
        "nat64-many", {"IP_L_max": "11", "IP_R_max": "6"}, phase1=PHASE1
    ),
    "NAT64, the right is the initiator": Case(
        "nat64",
        _SWAPPED | _enumerated(1, 1) | {
            "IP_L_Vers": "4", "IP_R_Vers": "6", "IPv6_R_Real": "2001:2::2", "IPv6_L_Virt": "64:ff9b::198.19.0.2",
        },
        phase1="63 63 1000 500 563",
    ),
}  # fmt: skip
