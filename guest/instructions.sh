#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the plugin by which QEMU counts the instructions of testbeds of `kind: vm`. It goes to
# ${XDG_CACHE_HOME:-~/.cache}/natxy/vm-instructions. Does nothing if that is up to date. Needs gcc.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
target=${XDG_CACHE_HOME:-$HOME/.cache}/natxy/vm-instructions
stamp=$(sha256sum < "$here/instructions.c" | cut -d ' ' -f 1)

mkdir -p "$target"
exec 9> "$target/lock"
flock 9
[ "$(cat "$target/stamp" 2> /dev/null)" != "$stamp" ] || exit 0
gcc -std=gnu11 -O2 -Wall -Wextra -fPIC -shared -fvisibility=hidden "$here/instructions.c" -o "$target/new.so"
mv "$target/new.so" "$target/instructions.so"
echo "$stamp" > "$target/stamp"
