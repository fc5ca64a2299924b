#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the engine for AArch64 and runs the tests that need no ports, by QEMU's user mode. The libraries of Debian's
# arm64 are extracted into ${XDG_CACHE_HOME:-~/.cache}/natxy/aarch64, without being installed. Prints nothing else when
# all is up to date.
set -euo pipefail
cd "$(dirname "$0")/.."

root=${XDG_CACHE_HOME:-$HOME/.cache}/natxy/aarch64
build=build/engine-aarch64
if [ ! -f "$root/complete" ]; then
	rm -rf "$root"
	mkdir -p "$root"
	tools/step.sh "extracting the libraries of Debian's arm64" mmdebstrap --arch=arm64 --variant=extract \
		--include=libdpdk-dev,libfmt-dev,libgtest-dev,nlohmann-json3-dev,libnuma-dev,libc6-dev,libstdc++-12-dev \
		bookworm "$root"
	touch "$root/complete"
fi
mkdir -p build
cat > build/aarch64.ini << END
[binaries]
cpp = 'aarch64-linux-gnu-g++'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64-static', '-L', '$root']
[properties]
sys_root = '$root'
pkg_config_libdir = ['$root/usr/lib/aarch64-linux-gnu/pkgconfig', '$root/usr/share/pkgconfig']
[built-in options]
cpp_args = ['--sysroot', '$root']
cpp_link_args = ['--sysroot', '$root']
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END
[ -f "$build/build.ninja" ] || tools/step.sh "configuring the engine's build for AArch64" \
	meson setup "$build" engine --cross-file build/aarch64.ini -Disa=armv8-a+crc
tools/build.sh "building the engine for AArch64, about two minutes" "$build"
meson test -C "$build" --no-rebuild --print-errorlogs --suite portless
