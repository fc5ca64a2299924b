#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the additions to Debian's user-mode Linux for its use as a guest: Jool's modules, in one tree with the guest's
# own, and the library that is preloaded into its kernel. They go to ${XDG_CACHE_HOME:-~/.cache}/natxy/guest-KERNEL. Does
# nothing if they are up to date. Needs the packages of `make jool`.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
kernel=$(basename /usr/lib/uml/modules/*)
jool=$(dpkg-query -W -f '${Version}' jool-tools)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/natxy
target=$cache/guest-$kernel
# Any change of these inputs triggers a new build. natxy compares the first one with its own sources.
stamp="$(cat "$here"/build.sh "$here"/preload.c | sha256sum | cut -d ' ' -f 1) $kernel $jool"

mkdir -p "$cache"
exec 9> "$cache/lock"
flock 9
if [ "$(cat "$target/stamp" 2> /dev/null)" = "$stamp" ]; then
	echo "$target is up to date"
	exit
fi

# The build directory is fixed, because its path becomes part of the modules, and builds should be reproducible.
work=$cache/build-$kernel
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/result"
cd "$work"

# Debian ships the kernel as a program without the files to build modules against. These come from the source package of
# exactly the same version, which stays in the archive as long as the program does.
quietly() { "$@" >> log 2>&1 || { tail -n 40 log >&2; exit 1; }; }
source_version() { apt-cache madison linux-source-6.1 | awk -v "kernel=$kernel-" 'index($3, kernel) == 1 {print $3; exit}'; }
[ -n "$(source_version)" ] || quietly apt-get update
[ -n "$(source_version)" ] || { echo "make jool: Debian's archive has no linux-source-6.1 with version $kernel" >&2; exit 1; }

echo "building Jool $jool for user-mode Linux $kernel, about a minute"
quietly apt-get download "jool-dkms=$jool" "linux-source-6.1=$(source_version)"
for package in *.deb; do dpkg-deb -x "$package" .; done
# Most of the source is drivers. The build of modules needs only their Kconfig files.
tar -xf usr/src/linux-source-6.1.tar.xz --exclude='*/Documentation/*/*' --exclude='*.dts*' --exclude='*/drivers/*.[ch]'
source=$work/linux-source-6.1
zcat /usr/share/doc/user-mode-linux/config.gz > "$source/.config"

build() { quietly make -C "$source" ARCH=um -j"$(nproc)" "$@"; }
build olddefconfig
build modules_prepare
modules=$(echo "$work"/usr/src/jool-dkms-*/src/mod)
# The kernel's own Module.symvers is missing, so its symbols are resolved only when a module is loaded.
build KBUILD_MODPOST_WARN=1 M="$modules/common" modules
for translator in nat64 siit; do
	build KBUILD_MODPOST_WARN=1 M="$modules/$translator" KBUILD_EXTRA_SYMBOLS="$modules/common/Module.symvers" modules
done

tree=result/lib/modules/$kernel
mkdir -p "$tree/jool"
cp "$modules"/common/jool_common.ko "$modules"/nat64/jool.ko "$modules"/siit/jool_siit.ko "$tree/jool"
ln -s /usr/lib/uml/modules/"$kernel"/{kernel,modules.builtin,modules.builtin.modinfo,modules.order} "$tree"
quietly depmod -b "$work/result" "$kernel"
# The guest's kernel runs this program to load a module on demand.
printf '#!/bin/sh\nexec /sbin/modprobe -d %s "$@"\n' "$target" > result/modprobe
chmod +x result/modprobe
quietly cc -O2 -Wall -Wextra -Werror -shared -fPIC -o result/preload.so "$here/preload.c"

echo "$stamp" > result/stamp
rm -rf "$target"
mv result "$target"
echo "$target is ready"
