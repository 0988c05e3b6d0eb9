# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# For tests whose nodes run in an emulated machine (tools/vm) beside a control plane on the host.

# Makes the bridge that tools/kube makes on the host. The API server's address on the bridge leads to the
# host, by qemu's network.
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
