#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# An interface that comes up after `load` has no hook: a call to a Service must not reach, through it, a
# backend that no hook has evaluated. While such an interface exists, calls that policy cannot evaluate before the
# kernel has chosen a backend are denied, new or open; all other traffic goes on.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"

command -v conntrack >/dev/null || net_skip "needs conntrack"
NET_PORTS=6379
SERVICE_IP[late]=10.244.2.1 SERVICE_IP6[late]=fd44:2::1
service_start db web free

net_names out 8080

# Services 1 and 2: one backend, which policy allows. 5: of the two that are known, one is denied. 6: one that
# is denied. 7: no object tells of it.
leads() { # BACKEND of Service 5
	service_leads 5 "$1" 6379
}
service_leads 1 db 6379
service_leads 2 far 6379
leads far
service_leads 6 late 6379
# Open UDP calls of Service 8 follow its backend. It has two backends; policy denies one of them.
service_leads 8 far 8080
# The caller has yet to acknowledge the SYN-ACKs of Services 9 and 10, which have the same backends.
service_leads 9 far 8080
service_leads 10 far 8080

policy() { # [SETTING]: then what Services there are
	service_endpoints ${1:+"$1"}
	cat <<-EOF2
	[endpoint shop/late]
	node = worker-2
	ip = $(service_ip late), $(service_ip6 late)
	labels = role=late
	[network-policy shop/web]
	endpoints = role=web
	types = Egress
	egress = to endpoints(role in (db, far)) ports TCP/6379, UDP/6379
	egress = to endpoints(role = far) ports TCP/8080, UDP/8080
	EOF2
	[ -n "${1:-}" ] || {
		service_object 1 db 6379
		service_object 2 far 6379
		service_object 5 far,late 6379
		service_object 6 late 6379
		service_object 8 far,late 8080
		service_object 9 far,late 8080
		service_object 10 far,late 8080
	}
}
policy >"$NET_TMP/told.ini"
policy "service-cidr = 10.96.0.0/16, fd96::/64" >"$NET_TMP/range.ini"

# Makes a second uplink of the node, with late behind it, which counts packets.
newcomer() {
	net_link node late0 02:00:00:00:09:01 out late1 02:00:00:00:09:02
	ip -n "$NET-node" addr add 192.168.9.1/24 dev late0
	ip -n "$NET-node" addr add fd09::1/64 dev late0 nodad
	net_neighbour node late0 02:00:00:00:09:02 192.168.9.2 fd09::2
	ip -n "$NET-node" route add "$(service_ip late)" via 192.168.9.2
	ip -n "$NET-node" -6 route add "$(service_ip6 late)" via fd09::2
}
ip -n "$NET-out" addr add "$(service_ip late)/32" dev lo
ip -n "$NET-out" addr add "$(service_ip6 late)/128" dev lo nodad
net_on out nft -f - <<EOF2 || exit 1
table inet seen {
	counter calls { }
	chain in {
		type filter hook prerouting priority raw
		iifname late1 meta l4proto { tcp, udp } counter name calls
	}
}
EOF2

calls() { # how many packets have come by the newcomer since the last look
	net_on out nft reset counter inet seen calls | sed -n 's/.*packets \([0-9]*\) .*/\1/p'
}

# The caller's ACKs to these Services stay with the caller.
hold_acks() {
	net_on web nft -f - <<-EOF2
	table inet late_ack {
		chain out {
			type filter hook output priority raw
			ip daddr { 10.96.0.9, 10.96.0.10 } tcp flags & (syn | ack) == ack drop
			ip6 daddr { fd96::9, fd96::10 } tcp flags & (syn | ack) == ack drop
		}
	}
	EOF2
}

unhooked() { # whether packets were dropped for want of a hook since the last look
	local now
	now=$(net_counters | awk '/^drop .* that no hook would see leave/ { n += $2 } END { print n + 0 }')
	[ "$now" -gt "${dropped:-0}" ] && dropped=$now
}

told_of() { # INTERFACE
	net_bulkhead status --check 2>&1 | grep -q "$1"
}

service_allows "no policy" web 1 2 5
net_check "load" net_bulkhead load "$NET_TMP/told.ini"
service_allows "every interface is known" web 1 2 5
service_denies "every interface is known" web 6
net_check "sockets to Service 8 open while every interface is known" service_hold 8
net_check "the allowed backend answers them" net_is "$(service_held 8 "$NET_WAIT_ALLOWED")" out
net_check "the caller's ACKs will be late" hold_acks
net_check "sockets to Services 9 and 10 open while every interface is known" service_hold connect 9 10

newcomer
net_check "a newcomer: open calls to an allowed backend go on" \
	net_is "$(service_held 8 "$NET_WAIT_ALLOWED")" out
service_leads 8 late 8080
net_check "a newcomer: open calls stay with their backend while the kernel remembers it" \
	net_is "$(service_held 8 "$NET_WAIT_ALLOWED")" out
service_forget udp 8
net_check "a newcomer: UDP calls to a denied backend beyond it get no answer" \
	net_is "$(service_held 8 udp $NET_WAIT_DENIED)" silent
service_forget tcp 8
net_check "a newcomer: TCP calls to a denied backend beyond it get no answer" net_is "$(service_held 8 tcp $NET_WAIT_DENIED)" silent
service_leads 9 late 8080
service_forget tcp 9
net_check "the late ACKs may go" net_on web nft delete table inet late_ack
net_check "a newcomer: a late ACK to the allowed backend completes the handshake" \
	net_is "$(service_held 10 tcp "$NET_WAIT_ALLOWED")" out
net_check "a newcomer: a late ACK to a denied backend beyond it does not" \
	net_is "$(service_held 9 tcp $NET_WAIT_DENIED)" silent
net_check "a newcomer: no denied call reached the backend beyond it" net_is "$(calls)" 0
service_denies "a newcomer: nobody knows which backend it will be," web 5
net_check "the calls were dropped for want of a hook" unhooked
leads late
service_denies "a newcomer: the denied backend is beyond it," web 5 6
net_check "not even a first packet reached the backend beyond the newcomer" net_is "$(calls)" 0
net_check "status --check names the newcomer" told_of late0
service_allows "a newcomer: all backends are allowed," web 1 2
service_allows "a newcomer: no policy isolates the caller," free 1 2 5
net_check "calls to Services that nobody told of did reach that backend" [ "$(calls)" -gt 0 ]

net_check "load guards the newcomer" net_bulkhead load "$NET_TMP/told.ini"
service_denies "the newcomer has a hook" web 5 6
net_check "after the load no denied call reaches that backend" net_is "$(calls)" 0
leads far
service_allows "the newcomer has a hook" web 1 2 5
net_check "open UDP calls to the denied backend get no answer after the load" \
	net_is "$(service_held 8 udp $NET_WAIT_DENIED)" silent
net_check "no such call reached the denied backend" net_is "$(calls)" 0
service_leads 8 far 8080
service_forget udp 8
net_check "open UDP calls reach the allowed backend again" \
	net_is "$(service_held 8 udp "$NET_WAIT_ALLOWED")" out

ip -n "$NET-node" link add bridge0 type bridge
ip -n "$NET-node" link set bridge0 up
service_allows "a bridge, which leads nowhere but to its ports," web 5
ip -n "$NET-node" link add idle0 type veth peer name idle1
service_allows "another one, which is down" web 5
ip -n "$NET-node" link set idle0 up
service_denies "another interface, which is up," web 5
ip -n "$NET-node" link del idle0
service_allows "after the deletion of that interface a Service" web 5

net_check "load a policy that has only the range of Services" \
	net_bulkhead load --force "$NET_TMP/range.ini"
service_allows "range" web 1 2 5
ip -n "$NET-node" link add idle0 type veth peer name idle1
ip -n "$NET-node" link set idle0 up
service_denies "range, a newcomer" web 1 2 5
service_allows "range, a newcomer: no policy isolates the caller," free 1 2 5
net_check "unload" net_bulkhead unload
net_end
