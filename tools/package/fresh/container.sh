#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the image of `make container`: `tools/package/fresh/container.sh PACKAGE [PODMAN_OPTION...]`. Measures the
# quickstart in it with the privileges that docs/how-to/install.md names, and takes each of them away, which has to fail
# as the page says. The report stays in build/fresh/container/run.
way=container
# shellcheck source=tools/package/fresh/root.sh
. "$(dirname "$0")/root.sh"

package=$1
options=("${@:2}")
capabilities=NET_ADMIN,NET_RAW,SYS_ADMIN,IPC_LOCK
plan=/usr/share/doc/natxy/plans/quickstart.yaml

# Runs natxy in a container: `natxy CAPABILITIES PODMAN_OPTIONS ARGUMENT...`, with the options in one word, or none.
natxy() {
	# shellcheck disable=SC2086
	podman run --rm --network none --cap-drop ALL --cap-add "$1" $2 "${options[@]}" --volume "$PWD/$work:/natxy" \
		localhost/natxy "${@:3}"
}
# The NAT has to have a result, whatever else a busy machine keeps from having one.
measured() {
	local allowed=("$capabilities" "--security-opt unmask=/proc/sys")
	natxy "${allowed[@]}" run "$plan" --repeat 1 --output run || [ $? = 3 ]
	[ -s "$work/run/report.html" ] && natxy "${allowed[@]}" report run --format csv | grep '^nat-rate,.*,done,'
}
# Takes the capability `$1` away, or the options if it is none of them; natxy has to end with exit code `$2`.
fails_without() {
	local left unmasked="--security-opt unmask=/proc/sys" status=0
	left=$(tr , '\n' <<< "$capabilities" | grep -vx "$1" | paste -sd ,)
	[ "$left" != "$capabilities" ] || unmasked=
	natxy "$left" "$unmasked" run "$plan" --only forwarding --repeat 1 --output "without-${1//\//-}" || status=$?
	echo "without $1: exit code $status, expected $2"
	[ "$status" = "$2" ]
}

step install_s "making the image from the package" tools/package/container.sh "$package"
size file_mib "the package" $(($(stat -c %s "$package") >> 20))
size installed_mib "the image" $(($(podman image inspect --format '{{.Size}}' localhost/natxy) >> 20))
step measure_s "measuring the quickstart" measured
for without in NET_ADMIN=4 NET_RAW=2 SYS_ADMIN=4 IPC_LOCK=2 unmask=4; do
	step check "without ${without%=*}" fails_without "${without%=*}" "${without#*=}"
done
keep_figures
