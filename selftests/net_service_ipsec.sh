#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# IPsec policies of the node: the kernel encrypts packets before the hook of the interface by which they leave sees
# them, so that hook cannot evaluate a call to a Service by its backend. While the node has an outgoing policy, calls
# that policy cannot evaluate before the kernel has chosen a backend are denied, new or open; all other traffic goes
# on. If the kernel has no ESP, the policies are about other addresses, and nothing is encrypted.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"

command -v conntrack >/dev/null || net_skip "needs conntrack"
NET_PORTS=6379
service_start db web free
net_names out 8080

# Of Service 5's backends, and of Service 8's, policy allows one.
service_leads 1 db 6379
service_leads 2 far 6379
service_leads 5 far 6379
service_leads 8 far 8080
{
	service_endpoints
	cat <<-EOF2
	[network-policy shop/web]
	endpoints = role=web
	types = Egress
	egress = to endpoints(role in (db, far)) ports TCP/6379, UDP/6379
	egress = to endpoints(role = far) ports TCP/8080, UDP/8080
	EOF2
	service_object 1 db 6379
	service_object 2 far 6379
	service_object 5 far,worse 6379
	service_object 8 far,worse 8080
} >"$NET_TMP/policy.ini"

net_on out nft -f - <<EOF2 || exit 1
table inet seen {
	counter calls { }
	counter encrypted { }
	chain in {
		type filter hook prerouting priority raw
		meta l4proto esp counter name encrypted
		ip daddr $(service_ip worse) counter name calls
		ip6 daddr $(service_ip6 worse) counter name calls
	}
}
EOF2
counted() { # calls|encrypted: how many packets have come to worse, or as ESP, since the last look
	net_on out nft reset counter inet seen "$1" | sed -n 's/.*packets \([0-9]*\) .*/\1/p'
}

state() { # HOST FROM TO SPI
	ip -n "$NET-$1" xfrm state add src "$2" dst "$3" proto esp spi "$4" reqid 7 mode tunnel \
		aead 'rfc4106(gcm(aes))' 0x0102030405060708090a0b0c0d0e0f1011121314 128 2>/dev/null
}
policies() { # HOST OWN PEER OWN-NETWORK PEER-NETWORK
	local direction
	ip -n "$NET-$1" xfrm policy add dir out src "$4" dst "$5" \
		tmpl src "$2" dst "$3" proto esp reqid 7 mode tunnel || return
	for direction in in fwd; do
		ip -n "$NET-$1" xfrm policy add dir $direction src "$5" dst "$4" \
			tmpl src "$3" dst "$2" proto esp reqid 7 mode tunnel || return
	done
}
# Encrypts what goes between the pods of both nodes.
secure() {
	local host
	for host in node out; do
		state $host "$(net_ip node)" "$(net_ip out)" 1 && state $host "$(net_ip out)" "$(net_ip node)" 2 &&
			state $host "$(net_ip6 node)" "$(net_ip6 out)" 3 && state $host "$(net_ip6 out)" "$(net_ip6 node)" 4 || return
	done
	policies node "$(net_ip node)" "$(net_ip out)" 10.244.0.0/24 10.244.1.0/24 &&
		policies node "$(net_ip6 node)" "$(net_ip6 out)" fd44::/64 fd44:1::/64 &&
		policies out "$(net_ip out)" "$(net_ip node)" 10.244.1.0/24 10.244.0.0/24 &&
		policies out "$(net_ip6 out)" "$(net_ip6 node)" fd44:1::/64 fd44::/64
}
secure_others() {
	policies node "$(net_ip node)" "$(net_ip out)" 10.244.0.0/24 203.0.113.0/24
}
clear() { # of IPsec
	local host
	for host in node out; do
		ip -n "$NET-$host" xfrm policy flush && ip -n "$NET-$host" xfrm state flush || return
	done
}
unhooked() { # whether packets were dropped for want of a hook since the last look
	local now
	now=$(net_counters | awk '/^drop .* that no hook would see leave/ { n += $2 } END { print n + 0 }')
	[ "$now" -gt "${dropped:-0}" ] && dropped=$now
}
direct() { # NAME
	local family protocol
	for family in 4 6; do
		for protocol in tcp udp; do
			net_allowed web $protocol "$(service_at far $family)" 6379 "$1: web reaches far, $protocol over IPv$family"
			net_denied web $protocol "$(service_at worse $family)" 6379 "$1: web does not reach worse, $protocol over IPv$family"
		done
	done
}

how="IPsec" esp=1
secure || { esp='' && how="IPsec for others" && clear && net_check "the node has an IPsec policy" secure_others; }
service_leads 5 worse 6379
service_allows "$how, no policy" web 1 2 5
[ -z "$esp" ] || net_check "calls of pods are encrypted" [ "$(counted encrypted)" -gt 0 ]
net_check "calls by Service 5 reached worse" [ "$(counted calls)" -gt 0 ]
clear
service_leads 5 far 6379

net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
net_check "status names no IPsec policy" net_fails 1 grep ipsec -i <<<"$(net_bulkhead status)"
service_allows "no IPsec" web 1 2 5
net_check "sockets to Service 8 open without IPsec" service_hold 8
net_check "the allowed backend answers them" net_is "$(service_held 8 "$NET_WAIT_ALLOWED")" out

if [ -n "$esp" ]; then
	net_check "the node has IPsec policies" secure
else
	net_check "the node has an IPsec policy again" secure_others
fi
net_check "$how: status names the policies" grep -q '^outgoing IPsec policies: [1-9]' <<<"$(net_bulkhead status)"
net_check "$how: open calls to an allowed backend go on" net_is "$(service_held 8 "$NET_WAIT_ALLOWED")" out
service_leads 8 worse 8080
service_forget udp 8
net_check "$how: UDP calls to a denied backend get no answer" net_is "$(service_held 8 udp $NET_WAIT_DENIED)" silent
service_forget tcp 8
net_check "$how: TCP calls to a denied backend get no answer" net_is "$(service_held 8 tcp $NET_WAIT_DENIED)" silent
service_denies "$how: nobody knows which backend it will be," web 5
net_check "$how: the calls were dropped for want of a hook" unhooked
service_leads 5 worse 6379
service_denies "$how: the backend is denied," web 5
net_check "$how: no denied call reached worse" net_is "$(counted calls)" 0
service_allows "$how: all backends are allowed," web 1 2
service_allows "$how: no policy isolates the caller," free 1 2 5
net_check "$how: calls of the pod without policy did reach worse" [ "$(counted calls)" -gt 0 ]
direct "$how"
[ -z "$esp" ] || net_check "allowed calls were encrypted" [ "$(counted encrypted)" -gt 0 ]

clear
service_leads 5 far 6379
service_allows "IPsec is gone" web 1 2 5
net_check "unload" net_bulkhead unload
net_end
