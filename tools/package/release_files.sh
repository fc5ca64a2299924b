#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the Debian package, the sdist, the wheels and the archive of the documentation's site, into build/release:
# `tools/package/release_files.sh PYTHON`. Times in them are those of the commit.
set -euo pipefail
cd "$(dirname "$0")/../.."

made=build/release
version=$(tools/package/version.sh)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

make --no-print-directory deb docs-site PYTHON="$1"
rm -rf "$made"
mkdir -p "$made"
cp build/deb/natxy_*.deb "$made"
NATXY_WHEEL_ENGINE=portable tools/step.sh "making the sdist and the wheel" \
	.venv/bin/python -m hatchling build -t sdist -t wheel -d "$made"
tools/step.sh "making the wheel of natxy-siitperf" \
	.venv/bin/pip wheel --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir "$made" ./siitperf
tar --create --gzip --file "$made/natxy-$version-docs.tar.gz" --sort=name --mtime="@$SOURCE_DATE_EPOCH" \
	--owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw --transform "s,^site,natxy-$version-docs," -C build site
