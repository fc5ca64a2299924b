# SPDX-License-Identifier: Apache-2.0
"""Provides marks for a test's needs: programs, privileges, devices. Without them it is skipped, with the reason."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from natxy.engine.program import find_engine, find_reference
from natxy.errors import NatxyError
from natxy.plan.testbeds.vm import VmConfig
from natxy.testbeds.guest.kernel import find_guest
from natxy.testbeds.vm.accelerator import choose_accelerator
from natxy.testbeds.vm.image import find_image
from natxy.testbeds.vm.instructions import find_plugin
from tests.support.apart import with_what_make_built


def programs(*names: str) -> pytest.MarkDecorator:
    """Requires programs on the PATH."""
    missing = [name for name in names if shutil.which(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def cores(count: int) -> pytest.MarkDecorator:
    """Requires cores that this process may use."""
    own = len(os.sched_getaffinity(0))
    return pytest.mark.skipif(own < count, reason=f"needs {count} cores, and this process may use {own}")


@cache
def _namespace_error() -> str | None:
    """Returns why this process cannot make network namespaces: a container may forbid that even to root."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    name = f"natxy-needs-{os.getpid()}"
    for verb in ("add", "del"):
        try:
            done = subprocess.run(["ip", "netns", verb, name], capture_output=True, text=True, check=False)
        except OSError as error:
            return str(error)
        if done.returncode:
            return f"network namespaces cannot be used: {done.stderr.strip()}"
    return None


def _seg6_error() -> str | None:
    """Returns why the kernel cannot put packets into IPv6 by routes."""
    if error := _namespace_error():
        return error
    route = "ip link set lo up; ip -6 route add 2001:2::/64 encap seg6 mode encap.red segs 2001:2::1 dev lo"
    done = subprocess.run(["unshare", "--net", "sh", "-c", route], capture_output=True, text=True, check=False)
    return f"routes cannot encapsulate: {done.stderr.strip()}" if done.returncode else None


def _other_users_error() -> str | None:
    """Returns why a test cannot run natxy as another user: the clone may be in a home that only its owner may enter."""
    if os.geteuid() != 0:
        return "becoming another user needs root"
    for place in (Path(__file__).resolve(), Path(sys.executable)):
        for folder in place.parents:
            if not folder.stat().st_mode & stat.S_IXOTH:
                return f"other users may not enter {folder}"
    return None


def _error_of(find: Callable[[], object]) -> str | None:
    try:
        find()
    except NatxyError as error:
        return str(error)
    return None


def _unless(error: str | None) -> pytest.MarkDecorator:
    return pytest.mark.skipif(error is not None, reason=error or "")


NAMESPACES: Final = _unless(_namespace_error())
ENGINE: Final = _unless(_error_of(find_engine))
REFERENCE: Final = _unless(_error_of(find_reference))
with with_what_make_built():
    GUEST_ERROR: Final = _error_of(find_guest)
    _VM_ERROR: Final = _error_of(lambda: (choose_accelerator("tcg"), find_image(VmConfig(kind="vm"))))
    _COUNTER_ERROR: Final = None if find_plugin() else "`make vm` has not built the counter of instructions"
GUEST: Final = [pytest.mark.built, _unless(GUEST_ERROR)]
"""For a test of the kernel of `make jool`."""
VM: Final = [pytest.mark.built, _unless(_VM_ERROR)]
"""For a test that boots the virtual machine of `make vm`."""
COUNTER: Final = [*VM, _unless(_COUNTER_ERROR)]
"""For a test that counts the instructions of that virtual machine."""
SSHD_PROGRAM: Final = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
SSHD: Final = _unless(_namespace_error() or (None if SSHD_PROGRAM else "not installed: sshd (package openssh-server)"))
OTHER_USERS: Final = _unless(_other_users_error())
"""For a test that runs natxy as another user."""
SEG6: Final = _unless(_seg6_error())
"""For a test that puts IPv4 packets into IPv6 by routes."""
TUN: Final = pytest.mark.skipif(not Path("/dev/net/tun").exists(), reason="there is no /dev/net/tun")

LAB: Final = [pytest.mark.lab, NAMESPACES, ENGINE]
"""For a test that runs the engine in network namespaces."""
