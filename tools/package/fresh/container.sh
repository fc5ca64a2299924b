#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the image of `make container` by measuring the quickstart in it with the privileges that docs/how-to/install.md
# names: `tools/package/fresh/container.sh PACKAGE [PODMAN_OPTION...]`. The report stays in build/fresh/container/run.
way=container
# shellcheck source=tools/package/fresh/root.sh
. "$(dirname "$0")/root.sh"

package=$1
options=("${@:2}")
natxy() {
	podman run --rm --network none --cap-drop ALL --cap-add NET_ADMIN,NET_RAW,SYS_ADMIN,IPC_LOCK \
		--security-opt unmask=/proc/sys "${options[@]}" --volume "$PWD/$work:/natxy" localhost/natxy "$@"
}
# The NAT has to have a result, whatever else a busy machine keeps from having one.
measured() {
	natxy run /usr/share/doc/natxy/plans/quickstart.yaml --repeat 1 --output run || [ $? = 3 ]
	[ -s "$work/run/report.html" ] && natxy report run --format csv | grep '^nat-rate,.*,done,'
}

step install_s "making the image from the package" tools/package/container.sh "$package"
size file_mib "the package" $(($(stat -c %s "$package") >> 20))
size installed_mib "the image" $(($(podman image inspect --format '{{.Size}}' localhost/natxy) >> 20))
step measure_s "measuring the quickstart" measured
keep_figures
