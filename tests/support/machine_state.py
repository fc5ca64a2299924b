# SPDX-License-Identifier: Apache-2.0
"""Reads the state of this machine that natxy could change, to be compared with its state from before.

Others may use the machine at the same time, and be killed too. What has an owner counts only if that is one of those
that are asked for. Settings, interfaces and some files have none; they count only where natxy has touched them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from natxy.system.autogroup import own_autogroup
from natxy.system.process_owner import Owner

# What the kernel itself changes: counters, the timers of interfaces, and limits that it adapts to the load.
_VARIES: Final = re.compile(
    r"nf_conntrack_count|\.random|stat_refresh|ns_last_pid|pty\.nr|tainted|perf_event_max_sample_rate|min_free_kbytes"
)
# Routes of links that have just come up.
_OF_THE_KERNEL: Final = re.compile(r"fe80:|ff00:|linkdown")
_NAMESPACE: Final = re.compile(r"natxy-(\d+-\d+)-\S+")
_OWNER: Final = re.compile(r"(?<=-)\d+-\d+")
# The files of gateways have no owner in their names.
_ON_DUT: Final = ("natxy-tayga", "natxy-map646", "natxy-jool", "natxy-snabb", "natxy-vpp")


def machine_state(namespaces: Sequence[str] = (), owners: Collection[Owner] = ()) -> dict[str, Any]:
    """Returns the state of this machine, of its own network namespace and of `namespaces`, and what those of `owners`
    that no longer run have left."""
    ended = {owner for owner in owners if not owner.is_alive()}
    # The session is that of all processes of pytest, whose natxys set its nice value too.
    group = None if "PYTEST_XDIST_WORKER" in os.environ else own_autogroup()
    own: dict[str, Any] = {
        "namespaces": [*_namespaces(ended)],
        "files": sorted(str(path) for path in _files(ended)),
        "programs": [*_programs(ended)],
        "nice value": os.getpriority(os.PRIO_PROCESS, 0),
        "nice value of the session": group.niceness if group else None,
        "cores": sorted(os.sched_getaffinity(0)),
        "cores in service": Path("/sys/devices/system/cpu/online").read_text(),
        "sysctls": _sysctls("kernel|vm"),
        "network": _network(()),
    }
    return own | {name: _network(("ip", "netns", "exec", name)) for name in namespaces}


def touched_only(state: dict[str, Any], touched: str) -> dict[str, Any]:
    """Leaves out the machine's settings, interfaces and files without an owner whose names are not in `touched`.

    Namespaces of the caller's own stay whole. What a command does in another one leaves the machine's settings alone.
    """
    touched_here = "\n".join(line for line in touched.splitlines() if not line.startswith("ip netns exec "))

    def kept(values: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if name in touched_here}

    network = state["network"]
    own = {name: kept(network[name]) for name in ("links", "sysctls", "steering")}
    files = [file for file in state["files"] if _OWNER.search(file) or file in touched]
    return state | {"sysctls": kept(state["sysctls"]), "network": network | own, "files": files}


def differences(before: object, after: object, at: str = "") -> list[str]:
    """Returns a line for each value that is another one."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [
            line
            for key in sorted(before.keys() | after.keys())
            for line in differences(before.get(key), after.get(key), f"{at}/{key}")
        ]
    return [] if before == after else [f"{at}: {before!r} became {after!r}"]


def _namespaces(owners: Collection[Owner]) -> Iterable[str]:
    for line in _printed("ip", "netns", "list").splitlines():
        found = _NAMESPACE.match(line)
        if found and Owner.parse(found[1]) in owners:
            yield line.split()[0]


def _files(owners: Collection[Owner]) -> Iterable[Path]:
    for folder in {Path(tempfile.gettempdir()), Path("/tmp"), Path("/dev/shm"), Path("/run")}:
        for path in folder.glob("natxy-*"):
            found = _OWNER.search(path.name)
            if (found and Owner.parse(found[0]) in owners) or path.name.startswith(_ON_DUT):
                yield path


def _programs(owners: Collection[Owner]) -> Iterable[str]:
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        found = re.search(rb"NATXY_OWNER=(\d+-\d+)", environment)
        if found and Owner.parse(found[1].decode()) in owners:
            yield command


def _network(inside: tuple[str, ...]) -> dict[str, Any]:
    listed = json.loads(_printed(*inside, "ip", "-json", "address", "show") or "[]")
    links = {
        link["ifname"]: {
            "up": "UP" in link["flags"],
            "promiscuous": "PROMISC" in link["flags"],
            "XDP program": "xdp" in link,
            "mtu": link["mtu"],
            "addresses": sorted(
                f"{each['local']}/{each['prefixlen']}" for each in link["addr_info"] if each["scope"] != "link"
            ),
        }
        for link in listed
    }
    return {
        "links": links,
        "sysctls": _sysctls("net", inside),
        "steering": _steering(inside),
        "tunnel source": _printed(*inside, "ip", "sr", "tunsrc", "show"),
        "rules": [_printed(*inside, "ip", version, "rule") for version in ("-4", "-6")],
        "routes": [
            line
            for version in ("-4", "-6")
            for line in _printed(*inside, "ip", version, "route", "show", "table", "all").splitlines()
            if not _OF_THE_KERNEL.search(line)
        ],
        "nft": _printed(*inside, "nft", "list", "ruleset"),
        "iptables": [
            line
            for program in ("iptables", "ip6tables")
            for line in _printed(*inside, f"{program}-legacy-save").splitlines()
            if line.startswith("-A")
        ],
    }


def _steering(inside: tuple[str, ...]) -> dict[str, list[str]]:
    lines = _printed(*inside, "sh", "-c", "cd /sys/class/net && grep . */queues/rx-*/rps_cpus").splitlines()
    return {link: [*of_link] for link, of_link in groupby(lines, key=lambda line: line.partition("/")[0])}


def _sysctls(topics: str, inside: tuple[str, ...] = ()) -> dict[str, str]:
    return {
        name: value
        for line in _printed(*inside, "sysctl", "-a", "-r", f"^({topics})[.]").splitlines()
        for name, _, value in [line.partition(" = ")]
        if not _VARIES.search(name)
    }


def _printed(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
