#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests a wheel that has its engine: `tools/package/fresh/wheel.sh WHEEL`. Installs it by pip on a fresh root of Debian
# 12, with the Debian packages that docs/how-to/install.md names, and measures the quickstart there.
way=wheel
# shellcheck source=tools/package/fresh/root.sh
. "$(dirname "$0")/root.sh"

wheel=$1
# DPDK's libraries and drivers, and what labs are made of.
packages="python3-venv librte-ethdev23 librte-mempool-ring23 librte-net-af-packet23 librte-net-af-xdp23 librte-net-memif23
	libfmt9 iproute2 ethtool procps nftables conntrack"

step prepare "making a root of Debian 12" fresh_root bookworm ca-certificates
cp "$wheel" "$root/tmp"
before_mib=$(root_mib)
step install_s "apt update" inside online apt-get update
# shellcheck disable=SC2086
step install_s "apt install" inside online apt-get install -y --no-install-recommends $packages
step install_s "python3 -m venv" inside online python3 -m venv /root/natxy
step install_s "pip install" inside online /root/natxy/bin/pip install "/tmp/$(basename "$wheel")"
inside online apt-get clean
size file_mib "the wheel" $(($(stat -c %s "$wheel") >> 20))
size installed_mib "all that was installed" $(($(root_mib) - before_mib))
step measure_s "measuring the quickstart" quickstart /root/natxy/bin/natxy
keep_figures
