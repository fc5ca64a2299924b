# SPDX-License-Identifier: Apache-2.0
"""Measures gateways that lose frames whatever the rate is, and looks for the cause that natxy gives.

Each is a real one: Linux, with limits that users have met.
"""

from __future__ import annotations

import re
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from natxy.errors import DutError
from natxy.events.listener import RunListener
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.results.records import RepetitionRecord
from natxy.run.run import run_plan
from tests.support import needs
from tests.support.undisturbed import DisturbedError, repeated, undisturbed

pytestmark = [*needs.LAB, pytest.mark.machine, needs.programs("nft", "conntrack")]

TIMING: Final = {"preset": "lab", "max_pause": "20ms", "overrun_floor": "20ms", "max_backlog": "90%"}
TIMEOUTS: Final = {"udp_timeout_s": 600, "udp_stream_timeout_s": 600}
ROUTES: Final = ["sysctl", "-qw", "net.ipv4.ip_forward=1"]
MASQUERADED: Final = "chain out { type nat hook postrouting priority srcnat; oifname {right} masquerade; };"
CROWDED: Final = "frames on the gateway's cores, most of them of other"
REMOVE: Final = ["nft", "add table ip mine; delete table ip mine"]


def measured(folder: Path, code: int = 0, **experiment: Any) -> RepetitionRecord:
    """Measures once more while its trials contradict each other, or while natxy says that other traffic of the machine
    filled the queues of the gateway's cores; `code` is the exit code that natxy should have."""
    plan = {
        "name": "causes",
        "repeat": 1,
        "timing": TIMING,
        "experiments": [{"name": "x", "max_invalid": 20} | experiment],
    }
    folders = (folder / f"run{number}" for number in count())

    def once() -> tuple[int, RepetitionRecord]:
        out = next(folders)
        found = run_plan(resolve(Plan.model_validate(plan)), out, RunListener())
        record = RunReader(out).run.experiments[0]
        assert record.repetitions, record.reason
        return found, record.repetitions[0]

    def blames(both: tuple[int, RepetitionRecord]) -> str:
        reason = both[1].reason
        # A machine that disturbs the gateway in one trial and not in another makes it contradict itself.
        return reason if "contradict" in reason or CROWDED in reason else ""

    found, repetition = undisturbed(once, blames)
    assert found == code, repetition.reason
    return repetition


def by_commands(rules: str, *, stateful: bool) -> dict[str, Any]:
    gateway = {"driver": "command", "apply": [ROUTES, ["nft", f"table ip mine {{ {rules} }}"]], "remove": [REMOVE]}
    kept = {"clear": [["conntrack", "-F"]], "count": ["cat", "/proc/sys/net/netfilter/nf_conntrack_count"]}
    return gateway | ({"stateful": True, "masquerades": True} | kept if stateful else {})


@pytest.mark.long
def test_netfilter_gives_up_its_search_for_a_port(tmp_path: Path) -> None:
    found = measured(
        tmp_path,
        gateway={"driver": "nftables", "conntrack_max": "200k"} | TIMEOUTS,
        procedure="connection-rate",
        connections=63_800,
        ports={"source": "1024-32923", "destination": 7},
        addresses={
            "preset": "multiple",
            "left_hosts": {"first": "10.0.1.0", "last": "10.0.1.1"},
            "right_hosts": {"first": "198.19.1.0", "last": "198.19.1.0"},
        },
        search={"min_rate": "5k", "max_rate": "10k", "error": "100%"},
    )
    assert "netfilter gives up its search for a free port" in found.reason
    assert "63,800 connections to 1 destination need 98.9 % of the 64,512 ports" in found.reason
    failed = found.trials[-1]
    # The table's counter is exact, if nothing else lost frames.
    assert f"insert_failed rose by {failed.lost:,} in `conntrack -S`" in failed.reason


# All namespaces of the machine share the size of this table, so that other labs would lose connections too.
@pytest.mark.long
@pytest.mark.alone
@pytest.mark.more
def test_hash_chains_are_too_long(tmp_path: Path) -> None:
    found = measured(
        tmp_path,
        # There is no result.
        code=DutError.exit_code,
        gateway={"driver": "nftables", "conntrack_max": "300k", "hash_size": 1536} | TIMEOUTS,
        procedure="throughput",
        phase1_rate="10k",
        connections="50k",
        addresses="multiple",
        max_invalid=3,
        search={"min_rate": "1k", "max_rate": "2k", "error": "100%"},
    )
    assert found.value is None
    assert "netfilter refuses connections whose hash chain is too long" in found.reason
    assert "50,000 connections are 65.1 entries a bucket in a table of 1,536 buckets; raise" in found.reason


def learning(folder: Path, forgets_after: str, **own: Any) -> RepetitionRecord:
    """Measures a gateway that drops the first frame of each host that it has not seen for a while."""
    seen = f"set seen {{ type ipv4_addr; flags dynamic,timeout; timeout {forgets_after}; size 70000; }};"
    learn = "ip saddr @seen update @seen { ip saddr } accept; add @seen { ip saddr } drop;"
    hosts = {side: {"first": f"198.{n}.1.0", "last": f"198.{n}.1.3"} for side, n in (("left", 18), ("right", 19))}
    return measured(
        folder,
        gateway=by_commands(f"{seen} chain f {{ type filter hook forward priority 0; {learn} }};", stateful=False),
        procedure="throughput",
        addresses={"preset": "multiple"} | {f"{side}_hosts": each for side, each in hosts.items()},
        **own,
    )


def test_a_gateway_that_has_learnt_in_a_warm_up_loses_nothing(tmp_path: Path) -> None:
    # Without a warm-up it would forget its hosts between two trials. A busy machine may take a second from the end of a
    # warm-up to its trial.
    timing = {"settle": "6s", "warm_up": "100ms"}
    found = learning(tmp_path, "5s", timing=timing, search={"min_rate": "1k", "max_rate": "1k"})
    assert found.value == 1000
    assert found.trials[0].lost == 0


def test_a_gateway_learns_at_the_start(tmp_path: Path) -> None:
    found = learning(tmp_path, "50ms", search={"min_rate": "1k", "max_rate": "4k", "error": "100%"})
    assert re.search(r"4 frames each way are lost in the first [\d.]+ ms of a trial and none later", found.reason)
    assert "or a rule of its filter drops them (`nft ip mine f: add @seen { ip saddr } drop`)" in found.reason


def test_a_host_has_a_limit_of_connections(tmp_path: Path) -> None:
    counted = "set cnt { type ipv4_addr; flags dynamic; size 65535; };"
    limit = "ct state new add @cnt { ip saddr ct count over 100 } drop;"
    found = measured(
        tmp_path,
        gateway=by_commands(
            f"{counted} chain f {{ type filter hook forward priority 0; {limit} }}; {MASQUERADED}", stateful=True
        ),
        procedure="connection-rate",
        connections=2000,
        search={"min_rate": "2k", "max_rate": "8k", "error": "100%"},
    )
    # A busy machine may lose a frame or two of the hundred in both trials.
    assert re.search(r"the gateway keeps (9[5-9]|100) connections and no more, \1 each of 1 host", found.reason)
    assert "ct count over 100 } drop`); use more hosts (`left_hosts`)" in found.reason


def test_a_port_set_has_its_ports_whatever_the_rate(tmp_path: Path) -> None:
    nat = 'oifname "{right}" meta l4proto udp snat to {right_address}:5120-5135'
    found = measured(
        tmp_path,
        gateway=by_commands(f"chain out {{ type nat hook postrouting priority srcnat; {nat}; }};", stateful=True),
        procedure="connection-rate",
        connections=48,
        ports={"source": "10000-10047", "destination": 7},
        search={"min_rate": "1k", "max_rate": "4k", "error": "100%"},
    )
    assert (
        "the connections have 16 of the ports 5120 to 5135 of 1 public address (insert_failed rose by 32"
        in found.reason
    )
    assert "the gateway's rule or port set gives no others; give it more ports" in found.reason


def test_a_quarter_of_the_ports_may_be_that_of_a_worker(tmp_path: Path) -> None:
    nat = 'oifname "{right}" meta l4proto udp snat to {right_address}:17152-33279'
    found = measured(
        tmp_path,
        gateway=by_commands(f"chain out {{ type nat hook postrouting priority srcnat; {nat}; }};", stateful=True),
        procedure="connection-rate",
        connections="20k",
        ports={"source": "1024-65535", "destination": 7},
        search={"min_rate": "5k", "max_rate": "10k", "error": "100%"},
    )
    assert "of the ports 17152 to 33279 of 1 public address (insert_failed rose by" in found.reason
    assert "one of 4 equal parts of its ports" in found.reason


def test_the_ports_that_a_filter_drops_are_named(tmp_path: Path) -> None:
    dropped = "chain f { type filter hook forward priority 0; udp sport 32768-65535 drop; };"
    found = measured(
        tmp_path,
        gateway=by_commands(f"{dropped} {MASQUERADED}", stateful=True),
        procedure="connection-rate",
        connections=2000,
        ports={"source": "1024-65535", "destination": 7},
        search={"min_rate": "2k", "max_rate": "8k", "error": "100%"},
    )
    # Other frames that a busy machine loses may be among them.
    assert re.search(
        r"nearly all lost connections have the source ports 32\d\d\d to 65\d\d\d, where 100 % are lost", found.reason
    )
    assert "`nft ip mine f: udp sport 32768-65535 drop`" in found.reason


def test_connections_that_a_gateway_refuses_each_time_are_the_same(tmp_path: Path) -> None:
    dropped = "chain f { type filter hook forward priority 0; jhash udp sport mod 64 7 drop; };"
    found = measured(
        tmp_path,
        gateway=by_commands(f"{dropped} {MASQUERADED}", stateful=True),
        procedure="connection-rate",
        # All that there are.
        connections=4000,
        ports={"source": "10000-13999", "destination": 7},
        search={"min_rate": "2k", "max_rate": "8k", "error": "100%"},
    )
    assert "the same connections are lost each time" in found.reason


def test_the_flow_that_is_asked_first_may_be_lost(tmp_path: Path) -> None:
    dropped = "chain f { type filter hook forward priority 0; udp sport 10000 drop; };"
    found = measured(
        tmp_path,
        gateway=by_commands(dropped, stateful=False),
        procedure="throughput",
        ports={"source": "10000-10009", "destination": "20000-20009"},
        search={"min_rate": "1k", "max_rate": "4k", "error": "100%"},
    )
    assert "the same flows lose frames each time" in found.reason
    assert "(`nft ip mine f: udp sport 10000 drop`)" in found.reason


def test_a_wrong_checksum_is_named_with_the_right_one(tmp_path: Path) -> None:
    damages = "chain f { type filter hook forward priority 0; udp sport 20000-24999 udp checksum set 0xdead; };"
    found = measured(
        tmp_path,
        gateway=by_commands(damages, stateful=False),
        procedure="throughput",
        search={"min_rate": "1k", "max_rate": "4k", "error": "100%"},
    )
    assert re.search(r"UDP checksum 0xdead instead of 0x[\da-f]{4}", found.reason), found.reason
    assert "came through with a wrong checksum or length" in found.reason


def test_every_hundredth_frame_is_lost(tmp_path: Path) -> None:
    rule = "chain f { type filter hook forward priority 0; oifname {right} numgen inc mod 100 == 7 drop; };"
    found = measured(
        tmp_path,
        gateway=by_commands(rule, stateful=False),
        procedure="throughput",
        directions="forward",
        search={"min_rate": "1k", "max_rate": "4k", "error": "100%"},
        timing={"trial": "1s"},
    )
    assert "every 100th frame is lost: " in found.reason
    assert "drops without counting (`nft ip mine f: oifname" in found.reason


# Drops everything for 10 ms of each 500 ms, as long as the table is there, and writes how late it was at most, at the
# beginning or the end.
STOPPING: Final = """
import pathlib, subprocess, time
SHUT = "add chain ip mine shut { type filter hook forward priority 1; policy drop; }"
begin_s, latest_s = time.monotonic(), 0
for count in range(1, 10**6):
    time.sleep(max(0, begin_s + 0.5 * count - time.monotonic()))
    if subprocess.call(["nft", SHUT]):
        break
    latest_s = max(latest_s, time.monotonic() - begin_s - 0.5 * count)
    time.sleep(0.01)
    subprocess.call(["nft", "delete chain ip mine shut"])
    latest_s = max(latest_s, time.monotonic() - begin_s - 0.5 * count - 0.01)
    pathlib.Path(__file__).with_name("late").write_text(str(latest_s))
"""
LATE_S: Final = 0.012


@pytest.mark.more
@repeated
def test_a_gateway_that_stops_again_and_again(tmp_path: Path) -> None:
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    (folder / "stopping.py").write_text(STOPPING)
    gateway = by_commands("", stateful=False)
    gateway["apply"].append(["sh", "-c", f"nice -n -10 {sys.executable} {folder}/stopping.py > /dev/null 2>&1 &"])
    found = measured(
        folder,
        gateway=gateway,
        procedure="throughput",
        search={"min_rate": "1k", "max_rate": "4k", "error": "100%"},
        timing={"trial": "4s"},
    )
    every = re.search(r"about ([\d,]+) frames are lost every (\d+) ms: something stops the gateway", found.reason)
    late = folder / "late"
    late_s = float(late.read_text()) if late.exists() else 0.0
    if not every and late_s > LATE_S:
        raise DisturbedError(f"the gateway stopped, or went on, up to {1000 * late_s:.0f} ms late")
    assert every, found.reason
    assert 490 < int(every[2]) < 510


@pytest.mark.parametrize("limit", [960, 800])
def test_a_limiter_is_not_taken_for_a_gateway_that_stops(tmp_path: Path, limit: int) -> None:
    limited = (
        f"chain f {{ type filter hook forward priority 0; limit rate over {limit}/second burst 5 packets drop; }};"
    )
    found = measured(
        tmp_path,
        gateway=by_commands(limited, stateful=False),
        procedure="throughput",
        directions="forward",
        search={"min_rate": "1k", "max_rate": "4k", "error": "1"},
        timing={"trial": "2s"},
    )
    assert found.value == 0
    assert "again and again" not in found.reason
    assert "frame is lost" not in found.reason
    assert "a rate limiter lets" in found.reason
