#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the virtual machine of testbeds of `kind: vm`: Debian 12 with the gateways of natxy's drivers, Jool's modules
# among them, and a key to log in. It goes to ${XDG_CACHE_HOME:-~/.cache}/natxy/vm-bookworm. Does nothing if that is up
# to date. Needs root, and the packages of `make vm`.
set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin

here=$(dirname "$(readlink -f "$0")")
suite=bookworm
cache=${XDG_CACHE_HOME:-$HOME/.cache}/natxy
target=$cache/vm-$suite
# Any change of the recipe triggers a new build.
stamp=$(sha256sum < "$here/vm.sh" | cut -d ' ' -f 1)

mkdir -p "$cache"
exec 9> "$cache/lock"
flock 9
if [ "$(cat "$target/stamp" 2> /dev/null)" = "$stamp" ]; then
	echo "$target is up to date"
	exit
fi
[ "$(id -u)" = 0 ] || { echo "make vm: the files of the machine belong to its root: run it as root" >&2; exit 1; }

work=$cache/build-vm
rm -rf --one-file-system "$work"
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir -p "$work/result"
cd "$work"
quietly() { "$@" >> log 2>&1 || { tail -n 40 log >&2; exit 1; }; }
echo "building a virtual machine of Debian 12 with Jool, about three minutes"
# Only this user may log in.
ssh-keygen -q -t ed25519 -N '' -C natxy -f result/key

packages=(
	linux-image-amd64 systemd-sysv udev kmod openssh-server procps iproute2 ethtool nftables iptables
	conntrack tayga jool-tools iperf3
)
# Jool is built by the compilers of the suite, which the machine then does without.
cat > jool.sh << 'END'
set -eu
export DEBIAN_FRONTEND=noninteractive
kernel=$(basename /lib/modules/*)
apt-get update
apt-get install -y --no-install-recommends "linux-headers-$kernel" jool-dkms make
[ -e /lib/modules/$kernel/updates/dkms/jool.ko ] || dkms autoinstall -k "$kernel"
cp -r "/lib/modules/$kernel/updates/dkms" /root/jool
apt-get purge -y --auto-remove "linux-headers-$kernel" jool-dkms make
mkdir -p "/lib/modules/$kernel/updates"
mv /root/jool "/lib/modules/$kernel/updates/jool"
depmod "$kernel"
apt-get clean
rm -rf /var/lib/apt/lists/* /usr/share/doc/* /usr/share/man/* /usr/share/locale/*
END

cat > configure.sh << 'END'
set -eu
root=$1
echo gateway > "$root/etc/hostname"
echo '127.0.0.1 localhost gateway' > "$root/etc/hosts"
echo '/dev/vda / ext4 defaults,noatime 0 0' > "$root/etc/fstab"
install -d -m 700 "$root/root/.ssh"
install -m 600 result/key.pub "$root/root/.ssh/authorized_keys"
echo 'UseDNS no' > "$root/etc/ssh/sshd_config.d/natxy.conf"
# natxy gives the interfaces their MAC addresses, so that they have the same names with every kind of NIC. As in other
# labs, none merges frames: a DUT that merges TCP's segments forwards fewer.
for name in 00:mgmt 01:left 02:right; do
	printf '[Match]\nMACAddress=02:00:00:00:02:%s\n[Link]\nName=%s\nGenericReceiveOffload=no\n' "${name%:*}" \
		"${name#*:}" > "$root/etc/systemd/network/10-${name#*:}.link"
done
# Link-local addresses (RFC 3927) are forwarded by nobody, so that no test can have them.
printf '[Match]\nName=mgmt\n[Network]\nAddress=169.254.77.15/24\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n' \
	> "$root/etc/systemd/network/20-mgmt.network"
mkdir -p "$root/etc/systemd/networkd.conf.d"
printf '[Network]\nManageForeignRoutes=no\nManageForeignRoutingPolicyRules=no\n' \
	> "$root/etc/systemd/networkd.conf.d/natxy.conf"
ln -s /lib/systemd/system/systemd-networkd.service "$root/etc/systemd/system/multi-user.target.wants/"
printf 'net.ipv6.conf.default.accept_ra = 0\nnet.ipv6.conf.all.accept_ra = 0\nnet.ipv6.conf.default.accept_dad = 0
net.ipv4.conf.default.rp_filter = 0\nnet.ipv4.conf.all.rp_filter = 0\n' > "$root/etc/sysctl.d/99-natxy.conf"
# A frame to a neighbour that the kernel is about to ask for again takes a longer way: 84 instructions, of 7,500.
for name in default left right; do
	printf 'net.ipv4.neigh.%s.base_reachable_time_ms = 86400000\nnet.ipv6.neigh.%s.base_reachable_time_ms = 86400000\n' \
		"$name" "$name"
done >> "$root/etc/sysctl.d/99-natxy.conf"
# Modules whose settings the drivers read before they use them.
echo nf_conntrack > "$root/etc/modules"
# Nothing may run beside the gateway, and a boot without KVM should not take a minute.
for unit in apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer \
	dpkg-db-backup.timer systemd-timesyncd.service tayga.service iperf3.service systemd-tmpfiles-clean.timer \
	getty@tty1.service getty-static.service serial-getty@ttyS0.service systemd-networkd-wait-online.service \
	systemd-journal-flush.service systemd-random-seed.service systemd-update-utmp.service \
	systemd-update-utmp-runlevel.service dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount \
	sys-fs-fuse-connections.mount modprobe@configfs.service modprobe@dm_mod.service modprobe@drm.service \
	modprobe@efi_pstore.service modprobe@fuse.service modprobe@loop.service; do
	ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
# QEMU's machine has them, and a gateway needs none.
for module in ahci iTCO_wdt lpc_ich i2c_i801 pcspkr kvm_amd kvm_intel powernow_k8 evdev cfg80211; do
	echo "blacklist $module"
done > "$root/etc/modprobe.d/natxy.conf"
mkdir -p "$root/etc/systemd/journald.conf.d"
printf '[Journal]\nStorage=volatile\n' > "$root/etc/systemd/journald.conf.d/natxy.conf"
END

quietly mmdebstrap --variant=minbase --include="$(IFS=,; echo "${packages[*]}")" \
	--setup-hook='mkdir -p "$1/etc/initramfs-tools/conf.d"' \
	--setup-hook='printf "MODULES=list\nCOMPRESS=gzip\n" > "$1/etc/initramfs-tools/conf.d/natxy"' \
	--setup-hook='printf "virtio_pci\nvirtio_blk\next4\n" > "$1/etc/initramfs-tools/modules"' \
	--customize-hook="copy-in '$work/jool.sh' /root" \
	--customize-hook='chroot "$1" sh /root/jool.sh' \
	--customize-hook='rm "$1/root/jool.sh"' \
	--customize-hook="sh '$work/configure.sh' \"\$1\"" \
	"$suite" root

cp root/vmlinuz result/kernel
cp root/initrd.img result/initrd
sed 's/^/gateway /' root/etc/ssh/ssh_host_ed25519_key.pub > result/known_hosts
quietly mke2fs -q -t ext4 -d root result/disk.img 3G

echo "$stamp" > result/stamp
rm -rf "$target"
mv result "$target"
echo "$target is ready"
