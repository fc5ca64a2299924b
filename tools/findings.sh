#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a linter: `tools/findings.sh COMMAND...`. Prints one line for each finding, and nothing when there is none. A
# linter that fails without a finding, e.g. because it crashed, shows its whole output.
set -uo pipefail

output=$("$@" 2>&1) && exit
status=$?
# path:line:column: message. The rest is excerpts, hints and summaries.
grep -E '^[^ :]+:[0-9]+(:[0-9]+)?: ' <<< "$output" | grep -v ': note: ' || printf '%s\n' "$output"
exit "$status"
