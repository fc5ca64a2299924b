#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs `make test` in a clone on a fresh root of Debian 12, where nothing is installed but git and make. What the tests
# wrote stays in build/fresh/tests, as `log` and JUnit files.
way=tests
# shellcheck source=tools/package/fresh/root.sh
. "$(dirname "$0")/root.sh"

step prepare "making a root of Debian 12" fresh_root bookworm ca-certificates
git clone --quiet --no-hardlinks . "$root/srv/natxy"
step install_s "apt update" inside online apt-get update
step install_s "apt install git make" inside online apt-get install -y --no-install-recommends git make
status=0
(step measure_s "make test" inside online make -C /srv/natxy test) || status=$?
cp "$root"/srv/natxy/build/tests/*.xml "$work" || true
tail -n 1 "$work/log"
rm "$figures.new"
exit "$status"
