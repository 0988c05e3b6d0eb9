#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Services under the real kube-proxy in IPVS mode: kube_services.sh on Debian's 6.1, which has IPVS. The
# control plane runs on this host. The nodes and kube-proxy run in the emulated machine, which reaches the
# API server by qemu's network.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
export BULKHEAD=${BULKHEAD:-$top/build/bulkhead} BULKHEAD_SMALL=1 PROXY_MODE=ipvs
build=$(dirname "$BULKHEAD")

# Inside the machine: a bridge for the nodes, as tools/kube makes one. The API server's address on the
# bridge leads to this host.
machine_lan() {
	local address=192.168.7.10 hook
	modprobe virtio_net && ip link set eth0 up && ip addr add 10.0.2.15/24 dev eth0 &&
		ip link add lan address 02:00:00:00:07:0a type bridge && ip link set lan up &&
		ip addr add $address/24 dev lan && ip addr add fd07::10/64 dev lan nodad || return
	echo 1 >/proc/sys/net/ipv4/ip_forward
	for hook in OUTPUT PREROUTING; do
		iptables -t nat -A $hook -d $address -p tcp --dport 6443 -j DNAT --to 10.0.2.2:6443 || return
	done
	iptables -t nat -A POSTROUTING -o eth0 -j MASQUERADE
}

case ${1:-} in
"")
	[ "$(id -u)" -eq 0 ] || { echo "1..0 # SKIP needs root" && exit 4; }
	command -v qemu-system-x86_64 >/dev/null || { echo "1..0 # SKIP needs qemu-system-x86" && exit 4; }
	"$top/tools/vm-kernel" "$build/vm" || { echo "1..0 # SKIP no kernel to run" && exit 4; }
	exec "$top/tools/kube" run "$0" beside
	;;
beside) VM_NETWORK=1 VM_SECONDS=2400 exec "$top/tools/vm" "$build/vm" "$0" inside ;;
inside) machine_lan && GOMAXPROCS=1 GOGC=400 exec "$top/selftests/kube_services.sh" ;;
esac
