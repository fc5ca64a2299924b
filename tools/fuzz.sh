#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target, one on each core: `tools/fuzz.sh SECONDS`. What a target finds stays in build/corpus.
set -euo pipefail
cd "$(dirname "$0")/.."

targets=$(find build/engine-fuzz -type f -executable -name '*_fuzz')
[ -n "$targets" ] || { echo "make fuzz: no fuzz target was built" >&2; exit 1; }
fuzz() {
	local name
	name=$(basename "$1" _fuzz)
	mkdir -p "build/corpus/$name"
	"$1" -max_total_time="$2" -print_final_stats=1 -artifact_prefix="build/corpus/$name-" \
		"build/corpus/$name" "engine/fuzz/corpus/$name"
}
export -f fuzz
xargs -P "$(nproc)" -I{} bash -ec 'fuzz {} '"$1" <<< "$targets"
