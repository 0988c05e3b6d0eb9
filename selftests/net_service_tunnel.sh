#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Services whose remote backends are beyond a tunnel, as under an overlay network: the tunnel's own hook
# evaluates them. With redirect=1, which takes packets between pods of the node past their stack.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"

NET_PORTS=6379
service_start db bad web
for number in 1:db 2:far 3:worse 8:bad; do
	service_leads "${number%:*}" "${number#*:}" 6379
done

policy() { # [SETTING]: without it, the Services
	service_endpoints ${1:+"$1"}
	cat <<-EOF
	[network-policy shop/web]
	endpoints = role=web
	types = Egress
	egress = to endpoints(role in (db, far)) ports TCP/6379, UDP/6379
	EOF
	[ -n "${1:-}" ] || for number in 1:db 2:far 3:worse 8:bad; do
		service_object "${number%:*}" "${number#*:}" 6379
	done
}
policy >"$NET_TMP/told.ini"
policy "service-cidr = 10.96.0.0/16, fd96::/64" >"$NET_TMP/range.ini"

# Makes a tunnel of this kind between the node and the outside host.
tunnel() { # KIND
	local ends=("local 192.168.7.1 remote 192.168.7.2" "local 192.168.7.2 remote 192.168.7.1")
	local options=
	case $1 in
	tun)
		[ -c /dev/net/tun ] || return 1
		net_server node "$NET_TMP/tunnel.ready" "$NET_HELPERS/tunnel" "/run/netns/$NET-node" \
			"/run/netns/$NET-out" tunnel
		return
		;;
	sit) options="mode any" ;;
	vxlan) options="id 7 dstport 4789" ;;
	esac
	# shellcheck disable=SC2086
	ip -n "$NET-node" link add tunnel type "$1" $options ${ends[0]} &&
		ip -n "$NET-out" link add tunnel type "$1" $options ${ends[1]}
}

# Leads the node's traffic to the remote pods through the tunnel, and back.
ways() {
	net_tunnel_up
	ip -n "$NET-node" route replace 10.244.1.0/24 via 192.168.9.2
	ip -n "$NET-node" route replace fd44:1::/64 via fd09::2
	ip -n "$NET-out" route replace 10.244.0.0/24 via 192.168.9.1
	ip -n "$NET-out" route replace fd44::/64 via fd09::1
}

node_port() { # net_allowed|net_denied NAME NUMBER
	local family protocol
	for family in 4 6; do
		for protocol in tcp udp; do
			"$1" web $protocol "$(service_node $family)" "$((30000 + $3))" \
				"$2: web, $protocol, NodePort $((30000 + $3)) over IPv$family"
		done
	done
}

passed() { # KIND: whether packets have gone through the tunnel
	[ "$(ip -n "$NET-node" -s -j link show tunnel | sed 's/.*"tx":{"bytes":[0-9]*,"packets":\([0-9]*\).*/\1/')" -gt 0 ]
}

# redirect=1 needs this setting: the conntrack does not see every segment of a connection then.
net_on node sysctl -qw net.netfilter.nf_conntrack_tcp_be_liberal=1
kinds=0
for kind in tun sit vxlan; do
	tunnel $kind 2>/dev/null || continue
	kinds=$((kinds + 1))
	ways
	service_allows "$kind, no policy" web 1 2 3 8
	node_port net_allowed "$kind, no policy" 3
	net_check "$kind: calls go through the tunnel" passed
	# Where only the Service CIDR is known, the caller's hook knows no backend, so the tunnel's hook evaluates.
	for input in told range; do
		net_check "$kind, $input: load" \
			net_bulkhead load --force --set redirect=1 "$NET_TMP/$input.ini"
		service_allows "$kind, $input: the backends that policy allows" web 1 2
		service_denies "$kind, $input: the others" web 3 8
		node_port net_allowed "$kind, $input: a remote backend" 2
		node_port net_denied "$kind, $input: a remote backend that policy denies" 3
	done
	net_check "$kind: unload" net_bulkhead unload
	for host in node out; do
		ip -n "$NET-$host" link del tunnel 2>/dev/null
	done
done
[ $kinds -gt 0 ] || net_skip "the kernel has none of these tunnels"
net_end
