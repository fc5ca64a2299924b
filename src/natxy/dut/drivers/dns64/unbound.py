# SPDX-License-Identifier: Apache-2.0
"""Unbound as a DNS64 server."""

from __future__ import annotations

from natxy.dut.drivers.dns64.server import DOMAIN, Dns64Gateway
from natxy.plan.gateways.dns64 import UnboundConfig


class UnboundGateway(Dns64Gateway[UnboundConfig]):
    """Runs Unbound, which asks the authority of a stub zone and validates nothing."""

    name = "unbound"
    summary = "Unbound as a DNS64 server, for dns64-rate"
    position = 300
    program = "unbound"
    package = "unbound"
    version_option = "-V"

    def settings(self) -> str:
        return f"""\
server:
  module-config: "dns64 iterator"
  dns64-prefix: {self.config.prefix}
  interface: {self.listens_at}
  access-control: ::/0 allow
  num-threads: {self.threads}
  so-reuseport: yes
  do-daemonize: no
  use-syslog: no
  username: ""
  chroot: ""
  directory: {self.path}
  pidfile: ""
  qname-minimisation: no
  local-zone: "test." nodefault
stub-zone:
  name: {DOMAIN}
  stub-addr: {self.authority}
  stub-prime: no
remote-control:
  control-enable: no
"""

    def arguments(self) -> list[str]:
        return ["-d", "-c", self.conf_file]
