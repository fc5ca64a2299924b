#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests a Debian package as a stranger does: `tools/package/deb_test.sh PACKAGE`. Installs it with apt in a fresh root
# of Debian 12, which mmdebstrap makes in build/deb-test, looks at pages and completion, measures the quickstart plan in
# a network namespace of its own, purges it, and compares the root's files with those before. Prints times and sizes. The
# report stays in build/deb-test/report.html. Needs root and Debian's archive.
set -euo pipefail
cd "$(dirname "$0")/../.."

package=$1
work=build/deb-test
root=$work/root
[ "$(id -u)" = 0 ] || { echo "make deb-test: chroot and network namespaces need root" >&2; exit 1; }
rm -rf --one-file-system "$work"
mkdir -p "$work"
trap 'rm -rf --one-file-system "$root"' EXIT

# Runs a command in the root, in namespaces that end with it, with the machine's network or in one without interfaces.
inside() {
	local namespaces=(--mount --pid --fork --kill-child)
	[ "$1" = online ] || namespaces+=(--net)
	shift
	# shellcheck disable=SC2016
	unshare "${namespaces[@]}" bash -c '
		root=$1; shift
		mount --bind "$root" "$root"
		mount -t proc proc "$root/proc"
		mount -t sysfs sysfs "$root/sys"
		mount --rbind /dev "$root/dev"
		exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
			LC_ALL=C.UTF-8 TERM=dumb "$@"
	' bash "$root" "$@"
}

step() {
	local title=$1 started=$SECONDS status=0
	shift
	"$@" >> "$work/log" 2>&1 < /dev/null || status=$?
	printf '%-48s %5d s\n' "$title" $((SECONDS - started))
	[ "$status" = 0 ] || { tail -n 30 "$work/log"; echo "failed with exit code $status: $title"; exit 1; } >&2
}

# What apt and dpkg note down is no file of a package.
files() {
	(cd "$root" && find . -xdev \( -path ./var/cache -o -path ./var/lib/apt -o -path ./var/lib/dpkg -o -path ./var/log \
		-o -path ./tmp \) -prune -o -print | sort)
}

size() { printf '%-48s %5d MiB\n' "$1" "$2"; }

step "making a root of Debian 12" \
	mmdebstrap --variant=minbase --include=bash-completion,fish,man-db,zsh bookworm "$root"
cp "$package" "$root/tmp/natxy.deb"
cp tools/package/installed_test.sh "$root/tmp"
files > "$work/before"
before_kib=$(du -sk "$root" | cut -f 1)
step "apt update" inside online apt-get update
step "apt install" inside online apt-get install -y /tmp/natxy.deb
inside online apt-get clean
size "the package" $(($(stat -c %s "$package") >> 20))
size "its files" $(($(inside offline dpkg-query -W -f '${Installed-Size}' natxy) >> 10))
size "all that apt installed, and its lists" $((($(du -sk "$root" | cut -f 1) - before_kib) >> 10))
step "man pages, completion in bash, zsh and fish" inside offline bash /tmp/installed_test.sh

# A busy machine has no result, which is no fault of the package.
measure() { inside offline natxy run /usr/share/doc/natxy/plans/quickstart.yaml --output /tmp/run || [ $? = 3 ]; }
step "measuring the quickstart" measure
inside offline natxy report /tmp/run
cp "$root/tmp/run/report.html" "$work/report.html"

step "apt purge" inside online apt-get purge -y --auto-remove natxy
files > "$work/after"
comm -13 "$work/before" "$work/after" > "$work/left"
if grep natxy "$work/left" >&2; then
	echo "natxy left these files behind" >&2
	exit 1
fi
echo "Nothing of natxy is left; of the packages that came with it: $(wc -l < "$work/left") files (build/deb-test/left)"
