#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes builds of the engine offer its tests, which need GoogleTest: `tools/offer_tests.sh FOLDER...`. Measuring needs
# neither, so that `make setup` and `make portable` configure their builds without.
set -euo pipefail
cd "$(dirname "$0")/.."

for build; do
	if [ ! -f "$build/build.ninja" ]; then
		tools/step.sh "configuring the engine's build" meson setup "$build" engine
	elif ! grep -q _test.cpp "$build/build.ninja"; then
		tools/step.sh "adding the tests to $build" meson setup --reconfigure -Dtests=true "$build" engine
	fi
done
