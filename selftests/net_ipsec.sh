#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What IPsec policies of the node (`ip xfrm policy`) change: a pod's calls to addresses are judged at its own hook
# before the kernel encrypts them, and what the kernel has decrypted is judged at the receiver's hook.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"
# shellcheck source=selftests/lib/initiator.sh
. "$(dirname "$0")/lib/initiator.sh"

NET_PORTS="80 6379 7000"
service_start db web
service_leads 8 worse 7000
initiator_count out db web || exit 1

key=0x000102030405060708090a0b0c0d0e0f10111213
ipsec() { # HOST OWN PEER OWN-PREFIX PEER-PREFIX
	ip -n "$NET-$1" xfrm state add src "$2" dst "$3" proto esp spi 0x1 mode tunnel aead 'rfc4106(gcm(aes))' $key 128 &&
		ip -n "$NET-$1" xfrm state add src "$3" dst "$2" proto esp spi 0x1 mode tunnel \
			aead 'rfc4106(gcm(aes))' $key 128 &&
		ip -n "$NET-$1" xfrm policy add src "$4" dst "$5" dir out tmpl src "$2" dst "$3" proto esp mode tunnel &&
		ip -n "$NET-$1" xfrm policy add src "$5" dst "$4" dir in tmpl src "$3" dst "$2" proto esp mode tunnel &&
		ip -n "$NET-$1" xfrm policy add src "$5" dst "$4" dir fwd tmpl src "$3" dst "$2" proto esp mode tunnel
}
both() { # PEER-PREFIX PODS OWN PEER
	ipsec node "$3" "$4" "$2" "$1" && ipsec out "$4" "$3" "$1" "$2"
}
both 10.244.1.0/24 10.244.0.0/24 "$(net_ip node)" "$(net_ip out)" 2>"$NET_TMP/said" || {
	cat "$NET_TMP/said"
	net_skip "the kernel has no ESP"
}
both fd44:1::/64 fd44::/64 "$(net_ip6 node)" "$(net_ip6 out)"

{
	service_endpoints
	service_object 8 far,worse 7000
	cat <<-EOF2
	[network-policy shop/web]
	endpoints = role=web
	types = Ingress, Egress
	ingress = from endpoints(role=far) ports TCP/6379, UDP/6379
	egress = to endpoints(role=far) ports TCP/7000, UDP/7000
	EOF2
} >"$NET_TMP/policy.ini"
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"

encrypted() { # FAMILY PROTOCOL
	ip -n "$NET-node" -s xfrm state | awk '/bytes\),/ { n += $3 } END { print n + 0 }'
}

for family in 4 6; do
	far=$(service_at far $family) worse=$(service_at worse $family) web=$(service_at web $family)
	before=$(encrypted)
	for protocol in tcp udp; do
		net_allowed web $protocol "$far" 7000 "IPv$family: web reaches far by $protocol, encrypted"
		net_denied web $protocol "$worse" 7000 "IPv$family: web does not reach worse by $protocol"
		net_allowed out $protocol "$web" 6379 "IPv$family: far reaches web by $protocol, encrypted" "$far"
		net_denied out $protocol "$web" 6379 "IPv$family: worse does not reach web by $protocol" "$worse"
	done
	net_check "IPv$family: the kernel encrypts" [ "$(encrypted)" -gt "$before" ]
	echo "# IPv$family: of web's datagram by a Service to worse, which policy denies, $(initiator_arrives out udp 7000 \
		initiator_from web 6330 udp "$web" "$(service_address 8 $family)" 80) arrives"
	net_counters | awk '$2' | sed 's/^/# /'
done
net_end
