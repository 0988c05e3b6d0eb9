#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Uplinks without an Ethernet header: every kind of tunnel that the kernel has, and tun.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="80 443"
net_start db web job
db4=$(net_ip db) db6=$(net_ip6 db) job4=$(net_ip job) job6=$(net_ip6 job)
far4=192.168.9.2 far6=fd09::2

cat >"$NET_TMP/policy.ini" <<EOF
$(net_db_and_web tunnel)
$(net_endpoint job)
[network-policy shop/db]
endpoints = role=db
types = Ingress, Egress
ingress = from cidr(192.168.9.0/24), cidr(fd09::/64) ports TCP/80, UDP/80, TCP/5000, UDP/5000
egress = to cidr(192.168.9.0/24), cidr(fd09::/64) ports TCP/80, UDP/80, TCP/5000, UDP/5000
EOF

# Makes a tunnel between the node and the outside host, over their link.
tunnel() { # KIND
	local ends=("local 192.168.7.1 remote 192.168.7.2" "local 192.168.7.2 remote 192.168.7.1")
	local kind=$1
	case $kind in
	tun)
		[ -c /dev/net/tun ] || return 1
		"$NET_HELPERS/tunnel" "/run/netns/$NET-node" "/run/netns/$NET-out" tunnel \
			>"$NET_TMP/tunnel.ready" 2>/dev/null &
		NET_SERVERS+=($!)
		until [ -s "$NET_TMP/tunnel.ready" ]; do
			kill -0 $! 2>/dev/null || return 1
			sleep 0.05
		done
		;;
	wireguard) wireguard ;;
	*)
		# One sit device carries both IPv4 and IPv6 in this mode.
		[ "$kind" != sit ] || kind="sit mode any"
		# shellcheck disable=SC2086
		ip -n "$NET-node" link add tunnel type $kind ${ends[0]} &&
			ip -n "$NET-out" link add tunnel type $kind ${ends[1]}
		;;
	esac
}

wireguard() {
	local host public=()
	command -v wg >/dev/null || return 1
	for host in node out; do
		ip -n "$NET-$host" link add tunnel type wireguard || return 1
		wg genkey >"$NET_TMP/$host.key"
		public+=("$(wg pubkey <"$NET_TMP/$host.key")")
	done
	net_on node wg set tunnel listen-port 5182 private-key "$NET_TMP/node.key" \
		peer "${public[1]}" endpoint 192.168.7.2:5182 allowed-ips 0.0.0.0/0,::/0
	net_on out wg set tunnel listen-port 5182 private-key "$NET_TMP/out.key" \
		peer "${public[0]}" endpoint 192.168.7.1:5182 allowed-ips 0.0.0.0/0,::/0
}

# Leads the outside host's traffic to the pods through the tunnel.
ways() {
	net_tunnel_up
	ip -n "$NET-out" route replace 10.244.0.0/24 dev tunnel
	ip -n "$NET-out" route replace fd44::/64 dev tunnel
}

down() {
	local host
	net_bulkhead unload
	for host in node out; do
		ip -n "$NET-$host" link del tunnel 2>/dev/null
	done
}

claim="drop 1 claims an address of this node or its endpoints"
guarded() { # KIND
	local db far spoofed ends protocol
	for ends in "$db4 $far4 $job4" "$db6 $far6 $job6"; do
		read -r db far spoofed <<<"$ends"
		for protocol in tcp udp; do
			net_allowed out $protocol "$db" 80 "$1: outside reaches $db by $protocol at an allowed port"
			net_denied out $protocol "$db" 443 "$1: outside does not reach $db by $protocol at a denied port"
			net_allowed db $protocol "$far" 80 "$1: $db reaches outside by $protocol at an allowed port"
			net_denied db $protocol "$far" 443 "$1: $db does not reach outside by $protocol at a denied port"
		done
		net_allowed web tcp "$far" 443 "$1: a pod without policy reaches outside"
		net_check "$1: $db gets a megabyte over TCP" net_pair out db tcp "$db" 5000 1000000
		net_check "$1: $db sends a megabyte through a path narrower than its link" \
			net_pair db out tcp "$far" 5000 1000000
		net_check "$1: $db gets a datagram of 60,000 bytes" net_pair out db udp "$db" 5000 60000
		net_check "$1: a packet from outside with a pod's address is dropped" net_moves "$claim" \
			net_ask out udp "$db" 80 $NET_WAIT_DENIED "$spoofed"
		net_check "$1: a packet from outside with a pod's address to the node is dropped" net_moves "$claim" \
			net_ask out udp "${far%2}1" 80 $NET_WAIT_DENIED "$spoofed"
	done
	net_check "$1: a packet from outside with the node's address is dropped" net_moves "$claim" \
		net_ask out udp "$db6" 80 $NET_WAIT_DENIED fd07::1
}

for address in $job4/32 $job6/128 fd07::1/128; do
	ip -n "$NET-out" addr add $address dev lo nodad 2>/dev/null ||
		ip -n "$NET-out" addr add $address dev lo
done
kinds=0
for kind in tun sit gre wireguard; do
	tunnel $kind 2>/dev/null || continue
	kinds=$((kinds + 1))
	ways
	net_allowed out tcp "$db4" 443 "$kind: before load, all is open"
	net_bulkhead load "$NET_TMP/policy.ini" >"$NET_TMP/told" 2>&1
	net_check "$kind: load" net_is $? 0
	net_check "$kind: load says how it guards the uplink" grep -q "uplink tunnel: \|uplink tunnel takes no XDP" \
		"$NET_TMP/told"
	sed 's/^/# /' "$NET_TMP/told"
	guarded $kind
	net_bulkhead unload
	net_on node "$NET_HELPERS/foreign" xdp-pass tunnel
	net_check "$kind: load beside another XDP program" net_bulkhead load "$NET_TMP/policy.ini"
	net_check "$kind: beside another XDP program TC guards the uplink" test "$(net_bulkhead status | grep -c 'tunnel.*tc ingress')" = 1
	guarded "$kind by TC"
	down
done
net_check "the kernel has at least one kind of tunnel" test $kinds -gt 0
net_end
