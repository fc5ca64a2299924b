#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests: `tools/test.sh short` those of a few seconds, `tools/test.sh long` those of minutes, `tools/test.sh
# alone` those that other programs would disturb, `tools/test.sh more` those that show with other inputs what quicker ones
# show, `tools/test.sh cards` those of PCI network cards, `tools/test.sh faults` those that break a DUT behind ssh, and
# `tools/test.sh kills` those that end natxy at every change it makes.
# Ends with their counts. JUnit files stay in build/tests.
#
# Tests run beside each other, on machines that may be shared. Up to three tests that failed run again, one at a time,
# when all others have ended: the counts name each test that passed only then.
set -uo pipefail
cd "$(dirname "$0")/.."

# Hundreds of processes start natxy, and would each compile its sources.
unset PYTHONDONTWRITEBYTECODE

readonly MOST_AGAIN=3
results=build/tests
mkdir -p "$results"
files=()
failed=()
disturbed=()
parallel=
# The files that take longest come first, so that no process has one left when all others have ended.
readonly slowest=(tests/testbeds/vm_chain_test.py tests/runs/given_back_test.py tests/gateways/chain_test.py
	tests/testbeds/standing_lab_test.py tests/gateways/{map_t,tcp_goodput}_test.py tests/testbeds/{lab,hardware}_test.py
	tests/runs/{run,causes}_test.py tests/frames/siitperf_test.py tests/testbeds/vlan_test.py)
# Each process reads the files of all tests that it may get, which takes a core for seconds.
mapfile -t labs < <(grep --recursive --files-with-matches --include='*_test.py' --extended-regexp \
	'needs\.LAB|mark\.lab\b' src siitperf tests)
# natxys that do not see each other's ledgers set the nice value of this session, and may leave another one.
niceness=$(sed -n 's/.* nice //p' /proc/self/autogroup 2> /dev/null)

finish() {
	[ -z "$parallel" ] || kill "$parallel" 2> /dev/null
	[ -z "$niceness" ] || echo "$niceness" 2> /dev/null > /proc/self/autogroup
}

# expect NAME: the file of results that a runner has to write.
expect() {
	files+=("$results/$1.xml")
	rm -rf "$results/$1.xml" "$results/$1-again.xml" "$results/$1.cache"
}

run_googletest() {
	local written=build/engine/meson-logs/testlog.junit.xml
	rm -f "$written"
	meson test -C build/engine --no-rebuild --print-errorlogs || failed+=(GoogleTest)
	cp "$written" "$results/engine.xml"
}

# Tests with a lab mostly wait for frames. The tests without a lab use the cores meanwhile.
# start_parallel NAME MARKERS; await_parallel NAME
start_parallel() {
	expect "$1"
	.venv/bin/pytest --quiet --junit-xml="$results/$1.xml" -o cache_dir="$results/$1.cache" --numprocesses="$(nproc)" \
		--dist=worksteal -m "not lab and $2" > "$results/$1.log" 2>&1 &
	parallel=$!
}

await_parallel() {
	echo "== pytest: tests without a lab"
	wait "$parallel"
	ended "$1" $?
	parallel=
	cat "$results/$1.log"
}

# run_labs NAME MARKERS PROCESSES: a process has one lab at a time, and the tests of a file share it. With more than
# three processes, engines disturb each other so often that repeated measurements take longer than is gained.
run_labs() {
	expect "$1"
	echo "== pytest: tests with a lab or real frames"
	.venv/bin/pytest --quiet --junit-xml="$results/$1.xml" -o cache_dir="$results/$1.cache" --numprocesses="$3" \
		--dist=loadfile --no-loadscope-reorder -m "lab and $2" "${slowest[@]}" "${labs[@]}"
	ended "$1" $?
}

# ended NAME CODE: pytest's exit code is 1 if tests failed, and another one if it could not run them all.
ended() {
	case $2 in
	0) ;;
	1) disturbed+=("$1") ;;
	*) failed+=("pytest, $1") ;;
	esac
}

run_again() {
	local count=0 name
	for name in "${disturbed[@]}"; do
		((count += $(grep --count ': true' "$results/$name.cache/v/cache/lastfailed")))
	done
	for name in "${disturbed[@]}"; do
		if ((count > MOST_AGAIN)); then
			failed+=("pytest, $name")
			continue
		fi
		echo "== pytest: again, alone, what failed of $name"
		.venv/bin/pytest --quiet --junit-xml="$results/$name-again.xml" -o cache_dir="$results/$name.cache" \
			--last-failed --last-failed-no-failures=none || failed+=("pytest, $name")
	done
}

short_tests() {
	local markers="not long and not more and not kills and not fuzz and not cards and not faults"
	expect engine
	start_parallel parallel "$markers"
	echo "== GoogleTest"
	run_googletest
	run_labs labs "$markers" 3
	await_parallel parallel
	run_again
}

long_tests() {
	local markers="long and not more and not alone and not kills and not fuzz"
	start_parallel long-parallel "$markers"
	run_labs long "$markers" 2
	await_parallel long-parallel
	run_again
}

# marked_tests NAME [MARKERS]: runs the tests that have the verb's name as a marker.
marked_tests() {
	expect "$1"
	.venv/bin/pytest --quiet --junit-xml="$results/$1.xml" -m "$1${2+ and $2}" || failed+=("pytest, $1")
}

# What the machine's host does disturbs also a test that nothing else runs beside.
alone_tests() {
	expect alone
	.venv/bin/pytest --quiet --junit-xml="$results/alone.xml" -o cache_dir="$results/alone.cache" -m "alone and not more"
	ended alone $?
	run_again
}

trap finish EXIT
case ${1-} in
short | long | alone) "$1_tests" ;;
more) marked_tests more "not kills" ;;
cards | faults | kills) marked_tests "$1" ;;
*)
	echo "usage: $0 short|long|alone|more|cards|faults|kills" >&2
	exit 2
	;;
esac

counts=$(.venv/bin/python -m tools.count "${files[@]}") || failed+=(counts)
for part in "${failed[@]}"; do echo "failed: $part"; done
echo "$counts"
[ "${#failed[@]}" = 0 ]
