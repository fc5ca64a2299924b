#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests: `tools/test.sh short` those of a few seconds, `tools/test.sh long` the others. Ends with their counts.
# JUnit files stay in build/tests.
set -uo pipefail
cd "$(dirname "$0")/.."

results=build/tests
mkdir -p "$results"
files=()
failed=()

# pytest_part NAME ARGUMENTS...
pytest_part() {
	files+=("$results/$1.xml")
	rm -f "$results/$1.xml"
	echo "== pytest: $1 tests"
	.venv/bin/pytest --quiet --junit-xml="$results/$1.xml" "${@:2}" || failed+=("pytest, $1 tests")
}

googletest() {
	local written=build/engine/meson-logs/testlog.junit.xml
	files+=("$results/engine.xml")
	rm -f "$results/engine.xml" "$written"
	echo "== GoogleTest"
	meson test -C build/engine --no-rebuild --print-errorlogs || failed+=("GoogleTest")
	cp "$written" "$results/engine.xml"
}

case ${1-} in
short)
	googletest
	pytest_part parallel --numprocesses="$(nproc)" --dist=worksteal -m "not serial and not long"
	pytest_part serial -m "serial and not long"
	;;
long)
	pytest_part long -m long
	;;
*)
	echo "usage: $0 short|long" >&2
	exit 2
	;;
esac

counts=$(.venv/bin/python -m tools.count "${files[@]}") || failed+=("counts")
for part in "${failed[@]}"; do echo "failed: $part"; done
echo "$counts"
[ "${#failed[@]}" = 0 ]
