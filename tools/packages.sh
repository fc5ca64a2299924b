#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs Debian packages: `tools/packages.sh NAME...`. Prints nothing when all of them are installed.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
for package; do
	status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2> /dev/null || true)
	[ "$status" = installed ] || missing+=("$package")
done
[ "${#missing[@]}" != 0 ] || exit 0
if [ "$(id -u)" != 0 ]; then
	echo "run it as root, which can install: ${missing[*]}" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
tools/step.sh "reading Debian's package lists" apt-get update
tools/step.sh "installing ${missing[*]}" apt-get install -y --no-install-recommends "${missing[@]}"
