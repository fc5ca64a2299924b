#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests: `tools/test.sh short` those of a few seconds, `tools/test.sh long` those of minutes, `tools/test.sh
# cards` those of PCI network cards, `tools/test.sh faults` those that break a DUT behind ssh, and `tools/test.sh kills`
# those that end natxy at every change it makes. Ends with their counts. JUnit files stay in build/tests.
set -uo pipefail
cd "$(dirname "$0")/.."

results=build/tests
mkdir -p "$results"
files=()
failed=()

# expect NAME: the file of results that a runner has to write.
expect() {
	files+=("$results/$1.xml")
	rm -f "$results/$1.xml"
}

run_googletest() {
	local written=build/engine/meson-logs/testlog.junit.xml
	rm -f "$written"
	meson test -C build/engine --no-rebuild --print-errorlogs || failed+=(GoogleTest)
	cp "$written" "$results/engine.xml"
}

short_tests() {
	expect engine
	expect serial
	expect parallel
	# Trials run one at a time and mostly wait for frames. The other tests use the rest of the cores' time.
	nice -n 10 .venv/bin/pytest --quiet --junit-xml="$results/parallel.xml" --numprocesses="$(nproc)" --dist=worksteal \
		-m "not serial and not long and not kills and not fuzz" > "$results/parallel.log" 2>&1 &
	parallel=$!
	trap 'kill "$parallel" 2> /dev/null' EXIT
	echo "== GoogleTest"
	run_googletest
	echo "== pytest: tests with a lab or real frames"
	.venv/bin/pytest --quiet --junit-xml="$results/serial.xml" -m "serial and not long and not kills and not cards and not faults" || failed+=("pytest, serial tests")
	echo "== pytest: all others"
	wait "$parallel" || failed+=("pytest, parallel tests")
	trap - EXIT
	cat "$results/parallel.log"
}

long_tests() {
	expect long-parallel
	expect long
	# The first use every core, which would disturb the trials of the others.
	echo "== pytest: long tests without a lab"
	.venv/bin/pytest --quiet --junit-xml="$results/long-parallel.xml" --numprocesses="$(nproc)" --dist=worksteal \
		-m "long and not serial and not kills and not fuzz" || failed+=("pytest, long tests without a lab")
	echo "== pytest: long tests with a lab or real frames"
	.venv/bin/pytest --quiet --junit-xml="$results/long.xml" -m "long and serial and not kills" || failed+=("pytest, long tests")
}

# Runs the tests of a marker whose name is that of the verb.
marked_tests() {
	expect "$1"
	.venv/bin/pytest --quiet --junit-xml="$results/$1.xml" -m "$1" || failed+=("pytest, $1")
}

case ${1-} in
short | long) "$1_tests" ;;
cards | faults | kills) marked_tests "$1" ;;
*)
	echo "usage: $0 short|long|cards|faults|kills" >&2
	exit 2
	;;
esac

counts=$(.venv/bin/python -m tools.count "${files[@]}") || failed+=(counts)
for part in "${failed[@]}"; do echo "failed: $part"; done
echo "$counts"
[ "${#failed[@]}" = 0 ]
