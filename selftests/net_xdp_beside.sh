#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Our XDP program and xdp-filter on one uplink, under libxdp's dispatcher: both work, and either can be
# removed. A second build replaces ours while SYNs arrive that each program drops. nftables, which comes
# before TC at the pod, does not see packets that XDP drops.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

command -v xdp-filter xdp-loader nft >/dev/null || net_skip "needs xdp-tools and nftables"
net_start db
db4=$(net_ip db)

cat >"$NET_TMP/policy.ini" <<EOF
$(net_head "uplink = eth0")
$(net_endpoint_at db worker-1 "$db4" "interface = veth-db")
[network-policy shop/db]
endpoints = role=db
ingress = from cidr(192.168.7.0/24) ports TCP/80, TCP/6379
EOF

on_uplink() { # PROGRAM
	net_on node xdp-loader status eth0 | grep -qw "$1"
}

# Counts the packets to a port that pass XDP.
seen() { # PORT
	net_on node nft list chain inet test before |
		sed -n "s/.*dport $1 counter packets \([0-9]*\) .*/\1/p"
}

# xdp-filter's maps have one fixed place on a machine: the test does not run where they are in use.
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
		tcp dport 6379 counter
	}
}
EOF2

net_denied out tcp "$db4" 6379 "xdp-filter drops its port"
net_allowed out tcp "$db4" 443 "before load xdp-filter drops nothing else"
net_check "load beside xdp-filter" net_bulkhead load "$NET_TMP/policy.ini"
net_check "the uplink carries our program" on_uplink xdp_uplink
net_check "the uplink carries xdp-filter" on_uplink xdpfilt_alw_all

before80=$(seen 80) before443=$(seen 443)
net_allowed out tcp "$db4" 80 "a port that both allow is open"
net_denied out tcp "$db4" 443 "ours drops what the policy denies"
net_denied out tcp "$db4" 6379 "xdp-filter still drops its port, which the policy allows"
net_check "no packet that ours drops passes XDP" test "$(seen 443)" -eq "$before443"
net_check "a packet that both allow passes XDP" test "$(seen 80)" -gt "$before80"

# Makes another build: the same code with another build ID.
build=$(sed -n 's/.* \(0x[0-9a-f]*\)ull$/\1/p' "$(dirname "$BULKHEAD")/gen/build_id.h")
perl -0777 -pe \
	"BEGIN { \$id = pack('Q<', $build); \$other = pack('Q<', $build ^ 1) } s/\\Q\$id/\$other/g" \
	"$BULKHEAD" >"$NET_TMP/other"
chmod +x "$NET_TMP/other"
send_syns() {
	local port
	until [ -e "$NET_TMP/enough" ]; do
		for port in 443 6379; do
			net_frame out -n 64 eth0 02:00:00:00:07:02 02:00:00:00:07:01 \
				syn 192.168.7.2 "$db4" $port
		done
		echo sent
	done >"$NET_TMP/syns"
}
more_syns() { # that are sent from now on
	local target=$(($(wc -l <"$NET_TMP/syns") + 10))
	until [ "$(wc -l <"$NET_TMP/syns")" -ge $target ]; do sleep 0.1; done
}
replaced_by() { # COMMAND
	BULKHEAD=$1 net_ends 0 "programs were replaced" net_bulkhead load "$NET_TMP/policy.ini" && more_syns &&
		net_is "$(net_on node xdp-loader status eth0 | grep -cw xdp_uplink)" 1 &&
		on_uplink xdpfilt_alw_all && ! BULKHEAD=$1 net_bulkhead status | grep "another build"
}
: >"$NET_TMP/syns"
before443=$(seen 443) before6379=$(seen 6379)
send_syns &
syns=$!
NET_SERVERS+=("$syns")
# The emulated machine has one processor, which verifies the programs as well.
[ -z "${BULKHEAD_SMALL:-}" ] || renice -n 10 -p "$syns" >/dev/null
more_syns
net_check "another build's program replaces ours" replaced_by "$NET_TMP/other"
net_check "ours replaces the other build's" replaced_by "$BULKHEAD"
touch "$NET_TMP/enough"
wait $syns
net_check "during the replacements no packet that ours drops passed" net_is "$(seen 443)" "$before443"
net_check "during the replacements no packet that xdp-filter drops passed" net_is "$(seen 6379)" "$before6379"

net_check "unload" net_bulkhead unload
net_check "xdp-filter stays on the uplink" on_uplink xdp_dispatcher
net_denied out tcp "$db4" 6379 "xdp-filter drops its port after unload"
net_allowed out tcp "$db4" 443 "our program drops nothing after unload"

# The dispatcher of a generic program is generic, too: there ours cannot be native.
net_check "xdp-filter leaves the uplink" net_on node xdp-filter unload eth0
net_check "xdp-filter is generic" net_on node xdp-filter load -m skb -p allow -f tcp,udp eth0
net_on node xdp-filter port -m dst -p tcp 6379 || exit 1
net_check "load beside the generic xdp-filter" net_ends 0 "XDP, generic" net_bulkhead load "$NET_TMP/policy.ini"
net_check "the uplink carries our program beside the generic one" on_uplink xdp_uplink
net_check "the uplink carries the generic xdp-filter" on_uplink xdpfilt_alw_all
net_allowed out tcp "$db4" 80 "a port that both allow is open in generic mode"
net_denied out tcp "$db4" 443 "ours drops what the policy denies in generic mode"
net_denied out tcp "$db4" 6379 "the generic xdp-filter drops its port"
net_check "unload beside the generic xdp-filter" net_bulkhead unload
net_denied out tcp "$db4" 6379 "the generic xdp-filter drops its port after unload"
net_allowed out tcp "$db4" 443 "our program drops nothing in generic mode after unload"
net_end
