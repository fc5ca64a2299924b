# SPDX-License-Identifier: Apache-2.0
"""BIND 9 as a DNS64 server."""

from __future__ import annotations

from natxy.dut.drivers.dns64.server import DOMAIN, Dns64Gateway
from natxy.plan.gateways.dns64 import Bind9Config


class Bind9Gateway(Dns64Gateway[Bind9Config]):
    """Runs BIND 9, which asks the authority of a static stub zone and validates nothing."""

    name = "bind9"
    summary = "BIND 9 as a DNS64 server, for dns64-rate"
    position = 301
    program = "named"
    package = "bind9"
    version_option = "-v"

    def settings(self) -> str:
        return f"""\
options {{
  directory "{self.path}";
  pid-file none;
  session-keyfile none;
  listen-on {{ none; }};
  listen-on-v6 port 53 {{ {self.listens_at}; }};
  allow-query {{ any; }};
  allow-recursion {{ any; }};
  recursion yes;
  dns64 {self.config.prefix} {{ clients {{ any; }}; }};
  dnssec-validation no;
  qname-minimization off;
  prefetch 0;
  empty-zones-enable no;
}};
controls {{ }};
zone "{DOMAIN}" {{
  type static-stub;
  server-addresses {{ {self.authority}; }};
}};
"""

    def arguments(self) -> list[str]:
        return ["-g", "-n", str(self.threads), "-c", self.conf_file]
