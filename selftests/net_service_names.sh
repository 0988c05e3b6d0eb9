#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Events and connections name the Service that was called, although the packet has the backend's address at
# the hook that evaluates: the kernel's conntrack has the original destination.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

command -v nft >/dev/null || net_skip "needs nftables"
NET_PORTS="80 443"
net_start db web
db4=$(net_ip db) db6=$(net_ip6 db)

# Translates as kube-proxy does: shop/open is db at port 80, shop/closed at a port that policy denies.
net_on node nft -f - <<EOF2
table inet test {
	chain before {
		type nat hook prerouting priority dstnat
		ip daddr 10.96.0.10 meta l4proto {tcp, udp} th dport 8080 dnat ip to $db4:80
		ip daddr 10.96.0.11 meta l4proto {tcp, udp} th dport 8080 dnat ip to $db4:443
		ip6 daddr fd96::10 meta l4proto {tcp, udp} th dport 8080 dnat ip6 to [$db6]:80
		ip6 daddr fd96::11 meta l4proto {tcp, udp} th dport 8080 dnat ip6 to [$db6]:443
	}
}
EOF2
cat >"$NET_TMP/policy.ini" <<EOF2
[bulkhead]
node = worker-1
uplink = eth0
[endpoint shop/db]
node = worker-1
ip = $db4, $db6
labels = role=db
[endpoint shop/web]
node = worker-1
ip = $(net_ip web), $(net_ip6 web)
[service shop/open]
address = 10.96.0.10, fd96::10
port = a UDP/8080 to 80, b TCP/8080 to 80
backends = endpoints(role=db)
[service shop/closed]
address = 10.96.0.11, fd96::11
port = a UDP/8080 to 443, b TCP/8080 to 443
backends = endpoints(role=db)
[network-policy shop/db]
endpoints = role=db
ingress = ports UDP/80, TCP/80
EOF2

shown() { # PATTERN
	net_bulkhead show conntrack | grep -qE -- "$1"
}
event() { # PATTERN
	grep -qE -- "$1" "$NET_TMP/events"
}

net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
net_check "monitor starts" net_watch "$NET_TMP/text"
net_check "trace answers for a Service from the active maps" bash -c \
	"nsenter --net=/run/netns/$NET-node $BULKHEAD trace --pin $NET_PIN --from shop/web \
		--to svc:shop/open --port UDP/8080 | grep -q 'ingress  allow network-policy shop/db/ingress'"
net_check "trace names who isolates the Service's backends" bash -c \
	"nsenter --net=/run/netns/$NET-node $BULKHEAD trace --pin $NET_PIN --from shop/web \
		--to svc:shop/closed --port UDP/8080 |
		grep -q '    ingress  deny network-policy: isolated by shop/db$'"
for family in "10.96.0.10 10.96.0.11 $db4" "fd96::10 fd96::11 $db6"; do
	read -r open closed db <<<"$family"
	net_allowed web udp "$open" 8080 "web reaches the allowed backend by $open"
	net_denied web udp "$closed" 8080 "web does not reach the denied backend by $closed"
	net_denied web tcp "$closed" 8080 "web does not reach the denied backend by $closed over TCP"
	net_check "show conntrack has the backend of the Service at $open" \
		shown "\($db\) +UDP/80 .* by service shop/open to shop/db$"
done
net_seen "$NET_TMP/text" >"$NET_TMP/events"
for protocol in UDP TCP; do
	for closed in 10.96.0.11 "\[fd96::11\]"; do
		net_check "a drop of $protocol on the way to $closed names the Service" \
			event " drop .*-> $closed:8080 $protocol/8080 by service shop/closed "
		net_check "the event of that drop has who isolates the backend" \
			event " drop .*-> $closed:8080 $protocol/8080 .*; ingress: deny network-policy, isolated by shop/db$"
	done
done
net_check "the event of a connection that opens names the Service" event " pass .*shop/db .* UDP/80 by service shop/open "
net_watch "$NET_TMP/json" -j
net_allowed web udp "$db4" 80 "web reaches the pod by its own address"
net_seen "$NET_TMP/json" >"$NET_TMP/events"
net_check "the event of that connection names no Service" event '"destination":\{"name":"shop/db",.*"service":null'
net_check "unload" net_bulkhead unload

net_end
