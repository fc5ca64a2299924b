#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the version of a package of this commit: that of the sources when the commit has its tag, such as v0.1.0, and
# otherwise one that is older than it and names the commit: 0.1.0~20260131.8eee21c. The sources say the version in three
# places, which have to agree.
set -euo pipefail
cd "$(dirname "$0")/../.."

version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' src/natxy/__init__.py)
engine=$(sed -n "s/^  version: '\(.*\)',/\1/p" engine/meson.build)
if [ "$version" != "$engine" ]; then
	echo "src/natxy/__init__.py says version $version, but engine/meson.build says $engine: make them equal" >&2
	exit 1
fi
changed=$(git status --porcelain --untracked-files=no)
if [ -z "$changed" ] && git tag --points-at HEAD | grep -qxF "v$version"; then
	if ! grep -qF "## [$version]" CHANGELOG.md; then
		echo "CHANGELOG.md has no section [$version], although the commit has the tag v$version: write it" >&2
		exit 1
	fi
	echo "$version"
else
	echo "$version~$(git log -1 --format=%cd.%h --date=format:%Y%m%d)${changed:+.changed}"
fi
