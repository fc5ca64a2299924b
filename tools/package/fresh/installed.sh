#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests what an installed package has beside its programs: natxy-siitperf, man pages without a warning, the documentation,
# and completion as bash, zsh and fish start it by themselves. fresh/deb.sh runs it in a root of Debian.
set -euo pipefail
cd /tmp

natxy --version
natxy-engine --version
# The counter of a virtual machine's instructions, which QEMU loads.
[ -f /usr/lib/natxy/lib/natxy/instructions.so ]
[ "$(natxy list plans | wc -l)" -gt 5 ]
natxy install-siitperf build
build/siitperf-tp --help > /dev/null
natxy import --help > help
grep -x " *Write a plan from siitperf's configuration." help
for page in /usr/share/man/man1/natxy*.1.gz; do
	man --warnings=all "$page" > page 2> warnings
	[ -s page ] && [ ! -s warnings ] || { echo "$page:"; cat warnings; exit 1; }
done

cd /usr/share/doc/natxy
# shellcheck disable=SC1091
. /usr/share/bash-completion/completions/natxy
COMP_WORDS=(natxy run plans/quick)
COMP_CWORD=2
_natxy_completion natxy
[ "${COMPREPLY[*]}" = plans/quickstart.yaml ] || { echo "bash completes: ${COMPREPLY[*]}"; exit 1; }

fish -c 'complete -C "natxy run plans/quick"' | grep -x plans/quickstart.yaml

# zsh completes only for a terminal: its keys are sent to another zsh.
cat > /tmp/keys.zsh << 'END'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'autoload -U compinit; compinit -u -D; echo re""ady'
zpty -r -m shell said '*ready*'
zpty -w -n shell $'natxy run plans/quick\t'
zpty -r -m shell said '*quickstart.yaml*'
END
timeout 120 zsh -f /tmp/keys.zsh
