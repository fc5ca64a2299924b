#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a part of the engine with ninja: `tools/build.sh TITLE FOLDER [TARGET...]`. Prints the title, or nothing when
# the targets are up to date.
set -euo pipefail

title=$1
shift
ninja -n -C "$@" | grep -q 'no work to do' || tools/step.sh "$title" ninja -C "$@"
