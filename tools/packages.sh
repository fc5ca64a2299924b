#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs Debian packages: `tools/packages.sh [--newer] NAME...`. Prints nothing when all of them are installed. Building
# and measuring work on Debian 13 and Ubuntu 24.04 too, as `--newer` says; all else needs the versions of Debian 12.
set -euo pipefail
cd "$(dirname "$0")/.."

releases="Debian 12"
if [ "$1" = --newer ]; then
	releases="Debian 12 or 13, or Ubuntu 24.04,"
	shift
fi
missing=()
for package; do
	status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2> /dev/null || true)
	[ "$status" = installed ] || missing+=("$package")
done
[ "${#missing[@]}" != 0 ] || exit 0
# shellcheck disable=SC1090
system=$(. "${OS_RELEASE:-/etc/os-release}" && echo "${ID:-unknown} ${VERSION_ID:-}")
case "$system, for $releases" in
"debian 12, for "* | "debian 13, for Debian 12 or 13"* | "ubuntu 24.04, for Debian 12 or 13"*) ;;
*)
	echo "natxy needs $releases for this; the system here is ${system% }: use a container, a virtual machine or a chroot of Debian 12" \
		"(docs/how-to/install.md)" >&2
	exit 1
	;;
esac
if [ "$(id -u)" != 0 ]; then
	echo "run it as root, which can install: ${missing[*]}" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# Only an update that succeeded leaves the stamp, which is removed with the lists. One may succeed without some of them.
stamp=${APT_LISTS:-/var/lib/apt/lists}/natxy-setup
install=(apt-get install -y --no-install-recommends "${missing[@]}")
if [ -z "$(find "$stamp" -mmin -10 2> /dev/null)" ] || ! "${install[@]}" --simulate > /dev/null 2>&1; then
	tools/step.sh "reading the package lists" apt-get update
	touch "$stamp"
fi
tools/step.sh "installing ${missing[*]}" "${install[@]}"
