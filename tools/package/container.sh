#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the image localhost/natxy with podman, without a registry: `tools/package/container.sh PACKAGE`. mmdebstrap makes
# a Debian 12 with the package and what it recommends, which apt has to be told in mmdebstrap's hooks. They need root.
set -euo pipefail
cd "$(dirname "$0")/../.."

package=$1
# shellcheck disable=SC2016
mmdebstrap --variant=minbase \
	--customize-hook="copy-in '$package' /tmp" \
	--customize-hook='chroot "$1" sh -c "apt-get update && apt-get install -y --install-recommends /tmp/natxy_*.deb && rm /tmp/natxy_*.deb"' \
	--customize-hook='chroot "$1" sh -c "rm -rf /var/lib/apt/lists/* /var/cache/apt/*; mkdir /natxy"' \
	bookworm - |
	podman import --quiet --change 'ENTRYPOINT ["natxy"]' --change 'WORKDIR /natxy' - localhost/natxy:latest
podman image ls localhost/natxy
