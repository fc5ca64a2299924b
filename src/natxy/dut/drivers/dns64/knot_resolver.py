# SPDX-License-Identifier: Apache-2.0
"""Knot Resolver as a DNS64 server."""

from __future__ import annotations

from natxy.dut.drivers.dns64.server import DOMAIN, Dns64Gateway
from natxy.plan.gateways.dns64 import KnotResolverConfig


class KnotResolverGateway(Dns64Gateway[KnotResolverConfig]):
    """Runs Knot Resolver, a process for each thread, which asks the authority of a stub and validates nothing.

    Its module dns64 asks for the A record without the stub, from the root on, so that the authority is the root too.
    """

    name = "knot-resolver"
    summary = "Knot Resolver as a DNS64 server, for dns64-rate"
    position = 303
    program = "kresd"
    package = "knot-resolver"
    version_option = "-V"

    def settings(self) -> str:
        return f"""\
net.listen('{self.listens_at}', 53, {{ kind = 'dns' }})
cache.open(100 * MB, 'lmdb://{self.path}')
trust_anchors.remove('.')
modules.unload('priming')
modules.unload('ta_update')
modules.unload('ta_signal_query')
modules.unload('detect_time_skew')
modules.load('policy')
modules.load('hints')
modules.load('dns64')
dns64.config({{ prefix = '{self.config.prefix.network_address}' }})
option('NO_MINIMIZE', true)
hints.root({{ ['{DOMAIN}.'] = '{self.authority}' }})
policy.add(policy.suffix(policy.STUB('{self.authority}'), {{ todname('{DOMAIN}') }}))
"""

    def arguments(self) -> list[str]:
        processes = ["--forks", str(self.threads)] if self.threads > 1 else []
        return ["--noninteractive", *processes, "--config", self.conf_file, self.path]
