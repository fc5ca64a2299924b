#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the tests in fresh roots share; they source it after setting `way`, the name of their way of installing. A test
# works in build/fresh/WAY, whose `log` has what the steps printed. Times and sizes go to build/install/WAY.tsv, from
# which `make docs` takes the table of docs/how-to/install.md. Needs root and Debian's archive.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

work=build/fresh/$way
root=$work/root
figures=build/install/$way.tsv
[ "$(id -u)" = 0 ] || { echo "$way: chroot and network namespaces need root" >&2; exit 1; }
rm -rf --one-file-system "$work"
mkdir -p "$work" "$(dirname "$figures")"
trap 'rm -rf --one-file-system "$root"' EXIT
: > "$figures.new"

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
		# Bash stays the first process, which has to ask for the exit codes of orphans. make would wait for them busily.
		chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
			LC_ALL=C.UTF-8 TERM=dumb ${PIP_CERT:+PIP_CERT="$PIP_CERT"} "$@"
	' bash "$root" "$@"
}

# Makes the root of a release with these packages, as a machine has them before natxy comes.
fresh_root() {
	local release=$1 packages=$2
	shift 2
	# A step goes on after a command that fails, whatever `set -e` says.
	mmdebstrap --variant=minbase --include="apt,$packages" "$release" "$root" "$@" || return
	mkdir "$root/tmp/fresh"
	cp tools/package/fresh/*.sh plans/quickstart.yaml "$root/tmp/fresh"
	# Where the network has a certificate of its own, pip needs it in the root too.
	[ -z "${PIP_CERT:-}" ] || install -D -m 644 "$PIP_CERT" "$root$PIP_CERT"
}

note() { printf '%s\t%s\t%s\n' "$@" >> "$figures.new"; }

# Runs a step, and notes its seconds under `install_s` or `measure_s`; those of other kinds are only printed.
step() {
	local kind=$1 title=$2 started=$EPOCHREALTIME status=0 took
	shift 2
	"$@" >> "$work/log" 2>&1 < /dev/null || status=$?
	took=$(awk "BEGIN { print $EPOCHREALTIME - $started }")
	printf '%-48s %7.1f s\n' "$title" "$took"
	[ "$status" = 0 ] || { tail -n 30 "$work/log"; echo "failed with exit code $status: $title"; exit 1; } >&2
	note "$kind" "$title" "$took"
}

size() {
	printf '%-48s %7d MiB\n' "$2" "$3"
	note "$@"
}

root_mib() { du -smx "$root" | cut -f 1; }

# Measures the quickstart once by the program `$1` in the root, in a network namespace of its own.
quickstart() {
	inside offline /tmp/fresh/quickstart.sh "$1"
	cp "$root/tmp/run/report.html" "$work/report.html"
}

# Keeps the figures, with what the machine was like.
keep_figures() {
	note condition processor "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)"
	note condition cores "$(nproc)"
	note condition load "$(cut -d ' ' -f 3 /proc/loadavg)"
	mv "$figures.new" "$figures"
}
