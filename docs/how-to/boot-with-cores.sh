#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# boot-with-cores.sh USER@DUT CORES|all: boots a Debian or Ubuntu machine with GRUB so that CORES of its cores are in
# service (the kernel's `maxcpus=`), and returns when it answers again. An example for `set_cores` of `driver: command`.
#
# NOT RUN ON A MACHINE YET, only against a stand-in for ssh. Read it, and have a console of the DUT at hand.
# - The setting outlives the run: `all` takes it back.
# - The kernel takes its first cores, which may be hardware threads of the same ones: switch hyper-threading off, or see
#   /sys/devices/system/cpu/cpu*/topology/thread_siblings_list.
# - All that is not set up at boot is gone afterwards: addresses, sysctls, rules, the gateway.
# - On some virtual machines udev puts the other cores into service again; that is an error here.
set -euo pipefail

readonly setting=/etc/default/grub.d/natxy-cores.cfg
readonly boot_s=600

die() { echo "boot-with-cores.sh: $*" >&2; exit 1; }
on_dut() { ssh -n -o BatchMode=yes -o ConnectTimeout=5 -o ServerAliveInterval=5 "$dut" "$1"; }
boot_id() { on_dut 'cat /proc/sys/kernel/random/boot_id'; }

[[ $# -eq 2 && $2 =~ ^([1-9][0-9]*|all)$ ]] || die "usage: boot-with-cores.sh USER@DUT CORES|all"
readonly dut=$1 cores=$2

# update-grub also where the file is right: an earlier run may have ended between the two.
case $cores in
	all) on_dut "rm -f $setting && update-grub" ;;
	*) on_dut "echo 'GRUB_CMDLINE_LINUX=\"\$GRUB_CMDLINE_LINUX maxcpus=$cores\"' > $setting && update-grub" ;;
esac

booted=all
[[ " $(on_dut 'cat /proc/cmdline') " =~ " maxcpus="([0-9]+)" " ]] && booted=${BASH_REMATCH[1]}
if [[ $booted != "$cores" ]]; then
	before=$(boot_id)
	# The connection may break before the answer comes.
	on_dut 'systemctl reboot' || true
	deadline=$((SECONDS + boot_s))
	until after=$(boot_id 2> /dev/null) && [[ $after != "$before" ]]; do
		((SECONDS < deadline)) || die "$dut does not answer $boot_s s after its reboot; see its console"
		sleep 2
	done
fi

there=$(on_dut 'getconf _NPROCESSORS_ONLN')
[[ $cores == all || $there == "$cores" ]] || die "$dut has $there cores in service, not $cores: has it so many, and does udev add some?"
echo "$dut has $there cores in service"
