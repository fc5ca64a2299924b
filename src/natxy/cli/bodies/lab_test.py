# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
from ipaddress import IPv4Address, IPv6Address

from natxy.cli.bodies.lab import how_to_use
from natxy.standing.labs import StandingLab

LAB = StandingLab(
    plan="plan\ntouch here; $(touch here).yaml",
    experiment="e\u2028`touch here`",
    gateway="jool",
    tester="natxy-1-2-tester",
    duts=("natxy-1-2-dut",),
    in_guest=True,
    io="af_xdp",
    tester_cores=(0, 2),
    tester_addresses=(IPv6Address("2001:2::2"), IPv4Address("198.19.0.2")),
    tester_macs=("02:00:00:00:00:01", "02:00:00:00:01:01"),
    dut_macs=("02:00:00:00:00:11", "02:00:00:00:01:11"),
)


def test_a_shell_takes_only_the_variables() -> None:
    """The names of files and experiments are others' words, and a shell executes what is printed."""
    lines = [*how_to_use(LAB)]
    assert all(line.startswith(("# ", "export NATXY_")) for line in lines)
    assert "touch here" in lines[0]
    script = (
        'touch() { echo executed; }; eval "$1"; echo "$NATXY_SIITPERF_CORES $NATXY_LAB_DUT $NATXY_SIITPERF_DUT_MACS"'
    )
    done = subprocess.run(["sh", "-c", script, "sh", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"0,2 natxy-1-2-dut {','.join(LAB.dut_macs)}\n", "")


def test_the_sides_are_exchanged_for_siitperfs_initiator_on_the_right() -> None:
    usual, exchanged = ({*how_to_use(LAB, side)} for side in ("left", "right"))
    assert {"#   IP-L-Vers 4", "#   IPv4-L-Real 198.19.0.2", "#   IPv6-R-Real 2001:2::2"} <= exchanged
    assert {f"#   MAC-L-DUT {LAB.dut_macs[1]}", f"#   MAC-R-Tester {LAB.tester_macs[0]}"} <= exchanged
    assert {line for line in exchanged - usual if line.startswith("export")} == {
        "export NATXY_SIITPERF_LEFT=right",
        "export NATXY_SIITPERF_RIGHT=left",
        f"export NATXY_SIITPERF_DUT_MACS={','.join(reversed(LAB.dut_macs))}",
    }


def test_keys_of_siitperf_conf_have_the_family_of_each_side() -> None:
    lines = [*how_to_use(LAB)]
    assert "#   IP-L-Vers 6" in lines
    assert "#   IPv6-L-Real 2001:2::2" in lines
    assert "#   IPv4-R-Real 198.19.0.2" in lines
    assert any("a guest between" in line for line in lines)
