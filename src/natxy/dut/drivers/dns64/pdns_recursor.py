# SPDX-License-Identifier: Apache-2.0
"""PowerDNS Recursor as a DNS64 server."""

from __future__ import annotations

from natxy.dut.drivers.dns64.server import DOMAIN, Dns64Gateway
from natxy.plan.gateways.dns64 import PdnsRecursorConfig


class PdnsRecursorGateway(Dns64Gateway[PdnsRecursorConfig]):
    """Runs PowerDNS Recursor, which asks the authority of a forward zone and validates nothing."""

    name = "pdns-recursor"
    summary = "PowerDNS Recursor as a DNS64 server, for dns64-rate"
    position = 302
    program = "pdns_recursor"
    package = "pdns-recursor"

    @property
    def conf_file(self) -> str:
        return f"{self.path}/recursor.conf"

    def settings(self) -> str:
        return f"""\
local-address={self.listens_at}
allow-from=::/0
query-local-address=::
forward-zones={DOMAIN}={self.authority}
dns64-prefix={self.config.prefix}
dnssec=off
qname-minimization=no
server-down-max-fails=0
threads={self.threads}
pdns-distributes-queries=no
reuseport=yes
daemon=no
disable-syslog=yes
loglevel=3
socket-dir={self.path}
security-poll-suffix=
"""

    def arguments(self) -> list[str]:
        return [f"--config-dir={self.path}"]
