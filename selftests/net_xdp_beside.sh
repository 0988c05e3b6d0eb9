#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Our XDP program and xdp-filter on one uplink, under libxdp's dispatcher: both work, and each goes
# without the other. What XDP drops is not seen by nftables, which comes before TC at the pod.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

command -v xdp-filter xdp-loader nft >/dev/null || net_skip "needs xdp-tools and nftables"
net_start db
db4=$(net_ip db)

cat >"$NET_TMP/policy.ini" <<EOF2
[bulkhead]
node = worker-1
uplink = eth0

[endpoint shop/db]
node = worker-1
interface = veth-db
ip = $db4
labels = role=db

[network-policy shop/db]
endpoints = role=db
ingress = from cidr(192.168.7.0/24) ports TCP/80, TCP/6379
EOF2

on_uplink() { # PROGRAM
	net_on node xdp-loader status eth0 | grep -qw "$1"
}

# How many packets to a port came past XDP.
seen() { # PORT
	net_on node nft list chain inet test before |
		sed -n "s/.*dport $1 counter packets \([0-9]*\) .*/\1/p"
}

# xdp-filter's maps have one place on a machine: where it is in use, it is not for a test.
[ ! -e /sys/fs/bpf/xdp-filter ] || net_skip "xdp-filter is in use"
trap 'net_on node xdp-filter unload eth0 >/dev/null 2>&1; net_cleanup' EXIT
net_on node xdp-filter load -m native -p allow -f tcp,udp eth0 || exit 1
on_uplink xdp_dispatcher || net_skip "the kernel refuses BPF_PROG_TYPE_EXT: no dispatcher"
net_on node xdp-filter port -m dst -p tcp 6379 || exit 1
net_on node nft -f - <<EOF2
table inet test {
	chain before {
		type filter hook prerouting priority raw;
		tcp dport 80 counter
		tcp dport 443 counter
	}
}
EOF2

net_denied out tcp "$db4" 6379 "xdp-filter drops its port"
net_allowed out tcp "$db4" 443 "and before load nothing else"
net_check "load beside it" net_bulkhead load "$NET_TMP/policy.ini"
net_check "both are on the uplink: ours" on_uplink xdp_uplink
net_check "both are on the uplink: xdp-filter" on_uplink xdpfilt_alw_all

before80=$(seen 80) before443=$(seen 443)
net_allowed out tcp "$db4" 80 "what both allow passes"
net_denied out tcp "$db4" 443 "ours drops what the policy denies"
net_denied out tcp "$db4" 6379 "xdp-filter still drops its port, which the policy allows"
net_check "nothing of what ours drops passes XDP" test "$(seen 443)" -eq "$before443"
net_check "what both allow does" test "$(seen 80)" -gt "$before80"

net_check "unload" net_bulkhead unload
net_check "xdp-filter stays" on_uplink xdp_dispatcher
net_denied out tcp "$db4" 6379 "and drops its port"
net_allowed out tcp "$db4" 443 "and ours is gone"
net_end
