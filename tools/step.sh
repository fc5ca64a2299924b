#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs one step of the set-up: `tools/step.sh TITLE COMMAND...`. Prints the time and the title; what the command prints
# goes to build/setup.log. Its end is shown when the command fails, and each minute its last line, because a busy machine
# takes longer. Two steps may run at once.
set -uo pipefail
log=build/setup.log

title=$1
shift
mkdir -p "$(dirname "$log")"
printf '%(%H:%M:%S)T %s\n' -1 "$title"
printf '\n== %s: %s\n' "$title" "$*" >> "$log"
own=$(mktemp build/step.XXXXXX)
# A pipe that nobody writes to: unlike `sleep`, waiting for it leaves no program behind.
exec {never}<> <(:)
until read -rt 60 -u "$never"; do printf '%(%H:%M:%S)T still %s: %.100s\n' -1 "$title" "$(tail -n 1 "$own")"; done &
trap 'kill $!; rm -f "$own"' EXIT
"$@" 2>&1 < /dev/null | tee -a "$log" > "$own" && exit
status=$?
{
	tail -n 40 "$own"
	echo "failed: $title (the whole output is in $log)"
} >&2
exit "$status"
