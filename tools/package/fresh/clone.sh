#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests what `make demo` does in a clone, on a fresh root of Debian 12, and then adds what `make setup` adds:
# `tools/package/fresh/clone.sh [RELEASE [MIRROR]]` does it on another release of Debian or Ubuntu, such as trixie.
release=${1:-bookworm}
way=clone-$release
# shellcheck source=tools/package/fresh/root.sh
. "$(dirname "$0")/root.sh"

step prepare "making a root of $release" fresh_root "$release" ca-certificates ${2:+"$2"}
git clone --quiet --no-hardlinks . "$root/root/natxy"
before_mib=$(root_mib)
step install_s "apt update" inside online apt-get update
step install_s "apt install git make" inside online apt-get install -y --no-install-recommends git make
step install_s "make demo-setup" inside online make -C /root/natxy demo-setup
inside online apt-get clean
size file_mib "the clone" "$(du -sm --exclude=build --exclude=.venv "$root/root/natxy" | cut -f 1)"
size installed_mib "all that was installed and built" $(($(root_mib) - before_mib))
step measure_s "measuring the quickstart" quickstart /root/natxy/.venv/bin/natxy
step check "make setup" inside online make -C /root/natxy setup
keep_figures
