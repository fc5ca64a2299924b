#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes .venv: `tools/venv.sh PYTHON`. It holds the pinned packages that natxy runs with, and natxy and natxy-siitperf as
# the sources are.
set -euo pipefail
cd "$(dirname "$0")/.."

install() { .venv/bin/pip install --disable-pip-version-check --progress-bar=off "$@"; }
"$1" -m venv .venv
install -r requirements.txt -r requirements-build.txt
# One after the other: an older natxy had the programs itself, and takes them with it.
install --no-build-isolation --no-deps --editable .
install --no-build-isolation --no-deps --editable ./siitperf
