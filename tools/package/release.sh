#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the files of a release in build/release and checks them: `tools/package/release.sh PYTHON`. The commit needs the
# tag of its version, such as v0.1.0; with SNAPSHOT=1 any commit will do. A clean clone in another folder has to make the
# same files, bit by bit. What the package does when it is installed, `make deb-test` tests.
set -euo pipefail
cd "$(dirname "$0")/../.."

python=$1
made=build/release
work=build/release-work
tools=build/release-venv

refuse() { echo "make release: $1" >&2; exit 2; }
fail() { echo "make release: $1" >&2; exit 1; }

version=$(tools/package/version.sh)
changed=$(git status --porcelain)
[ -z "$changed" ] || refuse "commit these changes, or take them away:"$'\n'"$changed"
[[ $version != *~* || ${SNAPSHOT:-} = 1 ]] ||
	refuse "this commit has no tag v${version%%~*}: give it the tag, or try a release with \`make release SNAPSHOT=1\`"

rm -rf "$work"
mkdir -p "$work"
tools/package/release_files.sh "$python"
git clone --quiet . "$work/again"
echo "making all of it again, in a clean clone"
(cd "$work/again" && tools/package/release_files.sh "$python")
different=$(diff --recursive --brief "$made" "$work/again/$made") || fail "a clean clone made other files:"$'\n'"$different"
echo "A clean clone in another folder made the same $(find "$made" -type f | wc -l) files."

# Installs files in a fresh venv, which has nothing that natxy does not need, and starts its programs there.
# try_out NAME FILE...
try_out() {
	local venv=$work/venv-$1
	shift
	echo "trying $(basename -a "$@" | paste -sd ' ') in a fresh venv"
	{
		"$python" -m venv --without-pip "$venv" &&
			.venv/bin/pip --python "$venv/bin/python" install --no-deps -r requirements.txt "$@" &&
			"$venv/bin/natxy-engine" --version && "$venv/bin/natxy-reference" --version &&
			"$venv/bin/natxy" --version && (cd "$venv" && bin/natxy list plans)
	} > "$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; fail "$* does not work"; }
}
try_out wheel "$made"/natxy-*.whl
try_out sdist "$made/natxy-${version%%~*}.tar.gz"
try_out siitperf "$made"/natxy-*.whl "$made"/natxy_siitperf-*.whl
{ "$work/venv-siitperf/bin/siitperf-tp" --help && "$work/venv-siitperf/bin/natxy" import --help; } > /dev/null ||
	fail "natxy-siitperf does not work"

[ "$tools/.installed" -nt requirements-release.txt ] || {
	tools/step.sh "making a venv for the bill of materials" "$python" -m venv "$tools"
	tools/step.sh "installing cyclonedx-bom into it" "$tools/bin/pip" install --disable-pip-version-check \
		--progress-bar=off -r requirements-release.txt
	touch "$tools/.installed"
}
bill=$made/natxy-$version.cdx.json
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) "$tools/bin/cyclonedx-py" environment --output-reproducible \
	--spec-version 1.6 --pyproject pyproject.toml --output-file "$work/python.json" \
	"$work/venv-wheel"
.venv/bin/python -m tools.package.sbom "$work/python.json" "$made"/natxy_*.deb build/engine-x86-64-v2 "$bill"
"$tools/bin/python" - "$bill" << 'END_OF_PROGRAM'
import sys
from pathlib import Path
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
sys.exit(JsonStrictValidator(SchemaVersion.V1_6).validate_str(Path(sys.argv[1]).read_text()) and "the bill is not CycloneDX 1.6")
END_OF_PROGRAM

rm -rf "$work"
(cd "$made" && sha256sum -- * > SHA256SUMS && ls -l && cat SHA256SUMS)
