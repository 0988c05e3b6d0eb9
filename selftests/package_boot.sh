#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A node boots three times in an emulated machine with Debian's systemd, podman and the Debian package.
# First: no policy is kept. Second: the kept policy is active before any pod exists, and podman's containers
# of before the boot start again under it. Third: the kept policy is damaged, and neither kubelet nor a
# container starts.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(dirname "${BULKHEAD:-$top/build/bulkhead}")

skip() {
	echo "1..0 # SKIP $1"
	exit 4
}
[ "$(id -u)" -eq 0 ] || skip "needs root"
command -v qemu-system-x86_64 mmdebstrap >/dev/null || skip "needs qemu-system-x86 and mmdebstrap"
package=$(ls "$build"/deb/bulkhead_*.deb 2>/dev/null) || skip "no package: make deb"
needs=$(dpkg-deb -f "$package" Depends | sed 's/([^)]*)//g; s/,//g')
# shellcheck disable=SC2086
"$top/tools/root" "$build/root/systemd.tar" systemd systemd-sysv kmod iproute2 podman runc \
	containernetworking-plugins iptables $needs || skip "no root"
"$top/tools/vm-kernel" "$build/vm" || skip "no kernel to run"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir "$root" "$work/kept" && tar -xf "$build/root/systemd.tar" -C "$root" || exit 1
cp "$package" "$root/bulkhead.deb" && chroot "$root" dpkg -i /bulkhead.deb >"$work/said" 2>&1 ||
	{ cat "$work/said" && exit 1; }
mkdir -p "$root/test" "$root/var/lib/prometheus/node-exporter"
chown nobody "$root/var/lib/prometheus/node-exporter"
cp "$top"/selftests/lib/{boot,cmd}.sh "$build"/selftests/helpers/{probe,first} "$root/test/"
mkdir -p "$root"/box/{proc,sys,dev,etc,tmp,usr,lib,lib64,run,test}
printf '%s\n' '[containers]' 'log_driver = "k8s-file"' '[engine]' 'events_logger = "none"' 'runtime = "runc"' \
	'[network]' 'network_backend = "cni"' >"$root/etc/containers/containers.conf"
printf '%s\n' '[storage]' 'driver = "vfs"' 'runroot = "/run/containers/storage"' \
	'graphroot = "/var/lib/containers/storage"' >"$root/etc/containers/storage.conf"

policy='[network-policy shop/db]
endpoints = role=db
ingress = from endpoints(role=web) ports TCP/80'
cat >"$root/test/policy.ini" <<EOF2
[bulkhead]
node = worker-1
[endpoint shop/db]
node = worker-1
interface = veth-db
ip = 10.244.0.1, fd44::1
labels = role=db
[endpoint shop/web]
node = worker-1
interface = veth-web
ip = 10.244.0.2, fd44::2
labels = role=web
[endpoint default/box]
labels = app=box
$policy
[network-policy default/box]
endpoints = app=box
types = Ingress, Egress
ingress = from cidr(192.168.7.0/24) ports UDP/7001
egress = to cidr(192.168.7.0/24) ports UDP/7001
EOF2
# The same policy in a cluster whose pods are all on another node.
cat >"$root/test/cluster.ini" <<EOF2
[bulkhead]
node = worker-1
[endpoint shop/db-2]
node = worker-2
ip = 10.244.1.1
labels = role=db
[endpoint shop/web-2]
node = worker-2
ip = 10.244.1.2
labels = role=web
$policy
EOF2

unit() { # NAME WANTED-BY: its lines follow
	mkdir -p "$root/etc/systemd/system/$2.wants"
	cat >"$root/etc/systemd/system/$1"
	ln -sf "../$1" "$root/etc/systemd/system/$2.wants/$1"
}
ln -s /dev/null "$root/etc/systemd/system/e2scrub_reap.service"
unit uplink.service network-online.target <<EOF2
[Unit]
Before=network-online.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/test/boot.sh uplink
EOF2
unit kubelet.service multi-user.target <<EOF2
[Service]
Type=exec
ExecStart=/test/boot.sh kubelet
EOF2
# The outside host from before any container exists on: it calls podman's first addresses and listens.
unit outside.service multi-user.target <<EOF2
[Unit]
After=uplink.service
Requires=uplink.service
Before=podman-restart.service
[Service]
Nice=19
ExecStart=/sbin/ip netns exec out /test/first 36000000 7001 5979 10.88.0.2 10.88.0.3 10.88.0.4 10.88.0.5
EOF2
# The machine's disk: podman's containers and its networks' addresses.
unit disk.service multi-user.target <<EOF2
[Unit]
Before=podman-restart.service
[Service]
Type=oneshot
ExecStart=/test/boot.sh disk
EOF2
ln -sf /lib/systemd/system/podman-restart.service "$root/etc/systemd/system/multi-user.target.wants/"
unit check.service multi-user.target <<EOF2
[Unit]
After=kubelet.service bulkhead-restore.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'stty -F /dev/ttyS1 raw -echo; stty -F /dev/ttyS2 raw -echo; bash /run/command >/dev/ttyS1 2>&1; echo \$? >/dev/ttyS2; poweroff -f'
EOF2

number=0 failed=0
boot() { # first|second|third
	(cd / && VM_ROOT=$root VM_KEEP=$work/kept:/var/lib/bulkhead VM_SECONDS=900 \
		"$top/tools/vm" "$build/vm" /test/boot.sh "$1") >"$work/said"
	local status=$? line
	while IFS= read -r line; do
		case $line in
		"ok "*) number=$((number + 1)) && echo "ok $number - $1 boot: ${line#* - }" ;;
		"not ok "*) number=$((number + 1)) && echo "not ok $number - $1 boot: ${line#* - }" ;;
		1..*) ;;
		*) echo "# ${line#\# }" ;;
		esac
	done <"$work/said"
	[ $status -eq 0 ] || failed=1
	[ $status -ne 125 ] || { number=$((number + 1)) && echo "not ok $number - the $1 boot ends"; }
}
boot first
boot second
# Changes a byte of the kept policy itself.
printf '\1' | dd of="$work/kept/policy" bs=1 seek=$(($(stat -c %s "$work/kept/policy") - 1)) conv=notrunc 2>/dev/null
boot third
[ $failed -eq 0 ]
