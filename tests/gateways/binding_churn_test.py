# SPDX-License-Identifier: Apache-2.0
"""Tests changes of bindings in a lab: the kernel's routes have to carry them out while frames flow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from natxy.engine.messages.results import Verdict
from tests.support import needs
from tests.support.chains import chain
from tests.support.measured_runs import late, measured_run
from tests.support.undisturbed import repeated

pytestmark = [*needs.LAB, needs.SEG6, pytest.mark.same_machine]

# Longer than a busy machine takes to come to the change.
CHURN: Final = {"name": "binding-churn", "recovery": "3s"}
SHARED: Final = {"ipv4": "198.18.128.0/28", "ipv6": "fd00:2:10::/44", "ea_length": 6, "offset": 0}

# Eight addresses and four PSIDs, and the end of each softwire by no rule.
TABLE: Final = "ipv4,psid,b4\n" + "".join(
    f"198.18.128.{address},{psid},fd00:2:7:{address * psid % 7}::{address}{psid}\n"
    for address in range(8, 16)
    for psid in range(4)
)

# A core by commands: of eight addresses, each has a route.
ROUTE: Final = "route replace {} encap seg6 mode encap.red segs {} dev {{left}}"
DECAPSULATE: Final = "-6 route add {softwire_own}/128 encap seg6local action End.DX4 nh4 0.0.0.0 dev {left}"
ENDS: Final = {f"198.18.128.{number}": f"fd00:2:7::{number}" for number in range(8)}
COMMAND: Final = {
    "driver": "command",
    "apply": [
        ["ip", "sr", "tunsrc", "set", "{softwire_own}"],
        ["ip", *DECAPSULATE.split()],
        *(["ip", *ROUTE.format(*each).split()] for each in ENDS.items()),
        ["sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"],
    ],
    "remove": [["ip", "route", "flush", "root", "198.18.128.0/29"]],
    "add_binding": [["ip", *ROUTE.format("{binding_ipv4}", "{binding_b4}").split()]],
    "remove_binding": [["ip", "route", "del", "{binding_ipv4}/32"]],
}
LISTED: Final = "ipv4,psid,b4\n" + "".join(f"{address},,{end}\n" for address, end in ENDS.items())


@repeated
def test_a_core_of_the_kernel_changes_bindings_without_loss_of_the_others(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"gateway": chain("tester", "softwire"), "procedure": CHURN, "rate": "2k"}
    plan = {
        "name": "p",
        "repeat": 1,
        "timing": {"preset": "lab", "trial": "500ms", "max_pause": "20ms", "overrun_floor": "20ms"},
        "defaults": {"max_invalid": 20},
        "experiments": [
            {"name": "own-addresses", "subscribers": {}, **fields},
            {"name": "shared-addresses", "subscribers": SHARED, **fields},
            {"name": "table", "subscribers": {"table": TABLE, "offset": 0}, **fields},
            {"name": "commands", "subscribers": {"table": LISTED}, **fields, "gateway": chain("tester", COMMAND)},
        ],
    }
    (tmp_path / "plan.yaml").write_text(json.dumps(plan))
    run, _ = measured_run(tmp_path / "plan.yaml", tmp_path / "out", blames=late)
    for experiment, bindings in zip(run.experiments, (128, 32, 16, 4), strict=True):
        [repetition] = experiment.repetitions
        figures = repetition.figures
        # Frames to subscribers without a route do not pass. Frames from any do: the kernel takes all of them out.
        assert (figures["unchanged_lost"], figures["old_passed_reverse"]) == (0, 0)
        took_s = figures["change"]
        assert took_s
        assert figures["bindings"] == pytest.approx(bindings / took_s)
        for name in ("old_time_reverse", "new_time_reverse", "new_whole_reverse"):
            time_s = figures[name]
            assert time_s is not None
            assert time_s <= took_s + 0.02, name
        assert (figures["old_time_forward"], figures["new_time_forward"]) == (None, None)
        assert "frames of old subscribers passed to the end, forward" in repetition.reason
        assert "frames of new subscribers passed before these had bindings, forward" in repetition.reason
        assert {trial.verdict for _, _, trial in experiment.all_trials if not trial.undecided} == {Verdict.PASS}
