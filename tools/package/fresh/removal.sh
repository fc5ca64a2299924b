#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kills a run once it has a lab, and removes the package: its lab has to go with it.
set -euo pipefail

natxy run /tmp/fresh/quickstart.yaml --output /tmp/killed &
run=$!
until [ -n "$(ip netns list)" ]; do
	kill -0 "$run"
	sleep 0.1
done
kill -KILL "$run"
wait "$run" || true
dpkg --remove natxy
/tmp/fresh/left.sh
