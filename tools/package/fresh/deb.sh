#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests a Debian package as a stranger does: `tools/package/fresh/deb.sh PACKAGE`. Installs it with apt in a fresh root
# of Debian 12, looks at pages and completion, measures the quickstart, removes the package while a killed run's lab
# stands, purges it, and compares the root's files with those before. The report stays in build/fresh/deb/report.html.
way=deb
# shellcheck source=tools/package/fresh/root.sh
. "$(dirname "$0")/root.sh"

package=$1

# What apt and dpkg note down is no file of a package.
files() {
	(cd "$root" && find . -xdev \( -path ./var/cache -o -path ./var/lib/apt -o -path ./var/lib/dpkg -o -path ./var/log \
		-o -path ./tmp \) -prune -o -print | sort)
}

step prepare "making a root of Debian 12" fresh_root bookworm bash-completion,fish,man-db,zsh
cp "$package" "$root/tmp/natxy.deb"
files > "$work/before"
before_mib=$(root_mib)
step install_s "apt update" inside online apt-get update
step install_s "apt install" inside online apt-get install -y /tmp/natxy.deb
inside online apt-get clean
size file_mib "the package" $(($(stat -c %s "$package") >> 20))
size own_mib "its files" $(($(inside offline dpkg-query -W -f '${Installed-Size}' natxy) >> 10))
size installed_mib "all that apt installed, and its lists" $(($(root_mib) - before_mib))
step check "man pages, completion in bash, zsh and fish" inside offline /tmp/fresh/installed.sh
step measure_s "measuring the quickstart" quickstart natxy
step remove "removing the package after a kill" inside offline /tmp/fresh/removal.sh
step remove "apt purge" inside online apt-get purge -y --auto-remove natxy
files > "$work/after"
# A package leaves what its users have at home, such as their caches.
comm -13 "$work/before" "$work/after" | { grep --invert-match '^\./root/' || true; } > "$work/left"
if grep natxy "$work/left" >&2; then
	echo "natxy left these files behind" >&2
	exit 1
fi
echo "Nothing of natxy is left; of the packages that came with it: $(wc -l < "$work/left") files ($work/left)"
keep_figures
