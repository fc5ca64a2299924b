#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the engine's tests for each instruction set that this CPU has: `tools/portable_tests.sh ISA...`.
set -euo pipefail
cd "$(dirname "$0")/.."

for isa; do
	if ! build/portable/natxy-engine --isa "$isa" --version > /dev/null; then
		echo "skipped: the tests for $isa, which this CPU cannot run"
		continue
	fi
	tools/offer_tests.sh "build/engine-$isa"
	tools/build.sh "building the engine's tests for $isa, about a minute" "build/engine-$isa"
	meson test -C "build/engine-$isa" --no-rebuild --print-errorlogs
done
