#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the Debian package from what `make portable` and `make man` have built: `tools/package/deb.sh PYTHON`. It goes
# to build/deb. The same commit makes the same package, in any folder: times in it are those of the commit.
set -euo pipefail
cd "$(dirname "$0")/../.."

version=$(tools/package/version.sh)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH PYTHON=$1

rm -rf build/deb
mkdir -p build/deb/natxy
cp -r tools/package/debian build/deb/natxy/debian
cat > build/deb/natxy/debian/changelog << END_OF_CHANGELOG
natxy ($version) bookworm; urgency=medium

  * See CHANGELOG.md.

 -- natxy's authors <natxy@localhost>  $(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
END_OF_CHANGELOG
cd build/deb/natxy
dpkg-buildpackage --build=binary --no-sign
