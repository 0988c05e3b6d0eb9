#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Calls to Services, which the node translates by kube-proxy's rules: policy evaluates the backend, whether it
# is local, on another node, the caller itself or the node, and no CIDR rule over the Service's address.
# Then the same with only the Service CIDR known, and with no Service known.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

command -v nft >/dev/null || net_skip "needs nftables"
NET_PORTS="80 6379 7000"
net_start db bad web wide
node4=$(net_ip node) node6=$(net_ip6 node)

# Two endpoints of another node, behind the outside host: .1 is a server, .2 is not.
for i in 1 2; do
	ip -n "$NET-out" addr add "10.244.1.$i/32" dev lo
	ip -n "$NET-out" addr add "fd44:1::$i/128" dev lo nodad
done

# A Service of each kind: its last number, and if it leads.
services() { # FAMILY
	local db bad web node remote
	case $1 in
	ip) db=$(net_ip db) bad=$(net_ip bad) web=$(net_ip web) node=$node4 remote=10.244.1. ;;
	ip6) db=$(net_ip6 db) bad=$(net_ip6 bad) web=$(net_ip6 web) node=$node6 remote=fd44:1:: ;;
	esac
	echo "1 $db 6379" "2 ${remote}1 6379" "3 ${remote}2 6379" "4 $web 6379" "5 $node 7000" \
		"8 $bad 6379" "10 ${remote}1 6379" "11 ${remote}2 6379" | xargs -n3
}

prefix() { # FAMILY
	case $1 in
	ip) echo 10.96.0. ;;
	ip6) echo fd96:: ;;
	esac
}

host_port() { # ADDRESS PORT
	case $1 in
	*:*) echo "[$1]:$2" ;;
	*) echo "$1:$2" ;;
	esac
}

# 10 and 11 are masqueraded, and so is what comes back to its caller, and NodePorts 30001 and up; not
# 31001, as by the traffic policy Local. 7 has two backends in turn. 6 has none.
rules() {
	local family number address port
	echo "table inet test {"
	echo "chain before { type nat hook prerouting priority dstnat"
	for family in ip ip6; do
		while read -r number address port; do
			echo "$family daddr $(prefix $family)$number meta l4proto {tcp, udp} th dport 80" \
				"dnat $family to $(host_port "$address" "$port")"
			echo "$family daddr $([ $family = ip ] && echo "$node4" || echo "$node6")" \
				"meta l4proto {tcp, udp} th dport {$((30000 + number)), $((31000 + number))}" \
				"dnat $family to $(host_port "$address" "$port")"
		done < <(services $family)
	done
	echo "ip daddr 10.96.0.7 meta l4proto {tcp, udp} th dport 80 dnat ip to numgen inc mod 2 map { \
		0 : 10.244.1.1, 1 : 10.244.1.2 }:6379"
	echo "ip6 daddr fd96::7 meta l4proto {tcp, udp} th dport 80 dnat ip6 to numgen inc mod 2 map { \
		0 : fd44:1::1, 1 : fd44:1::2 }:6379"
	echo "ip daddr 192.168.9.1 meta l4proto {tcp, udp} th dport 80 dnat ip to $(net_ip db):6379"
	echo "}"
	echo "chain after { type nat hook postrouting priority srcnat"
	echo "ct original ip daddr {10.96.0.4, 10.96.0.10, 10.96.0.11} masquerade"
	echo "ct original ip6 daddr {fd96::4, fd96::a, fd96::b} masquerade"
	echo "ct status dnat meta l4proto {tcp, udp} ct original proto-dst 30000-30999 masquerade"
	echo "}"
	echo "}"
}

rules | sed 's/fd96::10 /fd96::a /; s/fd96::11 /fd96::b /' >"$NET_TMP/rules"
net_on node nft -f "$NET_TMP/rules" || exit 1

endpoints() {
	cat <<-EOF2
	[bulkhead]
	node = worker-1
	uplink = eth0
	$1
	[node worker-1]
	ip = $node4, $node6
	[endpoint shop/db]
	node = worker-1
	ip = $(net_ip db), $(net_ip6 db)
	labels = role=server
	[endpoint shop/bad]
	node = worker-1
	ip = $(net_ip bad), $(net_ip6 bad)
	labels = role=bad
	[endpoint shop/web]
	node = worker-1
	ip = $(net_ip web), $(net_ip6 web)
	labels = role=web
	[endpoint shop/wide]
	node = worker-1
	ip = $(net_ip wide), $(net_ip6 wide)
	labels = role=wide
	[endpoint shop/far]
	node = worker-2
	ip = 10.244.1.1, fd44:1::1
	labels = role=server
	[endpoint shop/worse]
	node = worker-2
	ip = 10.244.1.2, fd44:1::2
	labels = role=bad
	EOF2
}

# web may reach servers, at the port of the backends; wide the range of Services, and nothing else.
policy() { # [ROLE]: whom web may reach
	cat <<-EOF2
	[network-policy shop/web]
	endpoints = role=web
	types = Egress
	egress = to endpoints(role=${1:-server}) ports TCP/6379, UDP/6379
	[network-policy shop/wide]
	endpoints = role=wide
	types = Egress
	egress = to cidr(0.0.0.0/0 except 10.244.0.0/16), cidr(::/0 except fd44::/16)
	EOF2
}

objects() {
	local number address port family
	while read -r number address port; do
		cat <<-EOF2
		[service shop/s$number]
		address = 10.96.0.$number, fd96::$(printf %x "$number")
		port = tcp TCP/80 to $port node $((30000 + number))
		port = udp UDP/80 to $port node $((30000 + number))
		backends = $address, $(services ip6 | awk -v n="$number" '$1 == n { print $2 }')
		EOF2
	done < <(services ip)
	cat <<-EOF2
	[service shop/s6]
	address = 10.96.0.6, fd96::6
	port = tcp TCP/80 to 6379
	port = udp UDP/80 to 6379
	[service shop/s7]
	address = 10.96.0.7, fd96::7
	port = tcp TCP/80 to 6379
	port = udp UDP/80 to 6379
	backends = 10.244.1.1, fd44:1::1, 10.244.1.2, fd44:1::2
	[service shop/outside]
	address = 10.96.0.20
	external-address = 192.168.9.1
	port = tcp TCP/80 to 6379
	port = udp UDP/80 to 6379
	backends = $(net_ip db)
	EOF2
}

{ endpoints && policy && objects; } >"$NET_TMP/told.ini"
{ endpoints "service-cidr = 10.96.0.0/16, fd96::/64" && policy; } >"$NET_TMP/range.ini"
{ endpoints && policy; } >"$NET_TMP/untold.ini"
{ endpoints && policy bad && objects; } >"$NET_TMP/other.ini"

address_of() { # FAMILY NUMBER
	if [ "$1" = ip ]; then echo "10.96.0.$2"; else printf 'fd96::%x\n' "$2"; fi
}

# Each Service of those whose backend policy allows, and of the others.
cases() { # HOW FROM ALLOWED DENIED
	local family protocol number
	for family in ip ip6; do
		for protocol in tcp udp; do
			for number in $3; do
				net_allowed "$2" $protocol "$(address_of $family "$number")" 80 \
					"$1: $2 reaches $family $protocol Service $number"
			done
			for number in $4; do
				net_denied "$2" $protocol "$(address_of $family "$number")" 80 \
					"$1: $2 does not reach $family $protocol Service $number"
			done
		done
	done
}

cases "before load" web "1 2 3 4 5 8 10 11" ""
net_check "load" net_bulkhead load "$NET_TMP/told.ini"
cases told web "1 2 4 5 10" "3 6 8 11"
cases told wide "5" "1 2 3 4 8 10 11"
net_allowed web tcp 192.168.9.1 80 "told: web reaches a Service by its external address"
net_denied wide tcp 192.168.9.1 80 "told: a CIDR rule does not allow a Service's external address"
for node in "$node4" "$node6"; do
	for protocol in tcp udp; do
		net_allowed web $protocol "$node" 30001 "told: web reaches a local backend by a NodePort of $node"
		net_allowed web $protocol "$node" 30002 "told: web reaches a remote backend by a NodePort of $node"
		net_denied web $protocol "$node" 30003 "told: web does not reach a denied remote backend by a NodePort of $node"
		net_denied web $protocol "$node" 30008 "told: web does not reach a denied local backend by a NodePort of $node"
		net_denied wide $protocol "$node" 30002 "told: wide does not reach a remote backend that its policy denies"
	done
done

# Of two backends in turn, policy allows one.
for family in ip ip6; do
	answers=0
	for _ in 1 2 3 4; do
		net_ask web tcp "$(address_of $family 7)" 80 3000 && answers=$((answers + 1))
	done
	net_check "told: every other $family call reaches the backend that policy allows" net_is $answers 2
done

# A policy that allows the other backends: what is open stops.
held() { # ADDRESS...: a connection by each
	local address hold hear
	HOLDS=()
	for address; do
		mkfifo "$NET_TMP/$address.ask" "$NET_TMP/$address.hear"
		nsenter --net="/run/netns/$NET-web" "$NET_PROBE" hold "$address" 80 "$NET_WAIT_ALLOWED" \
			<"$NET_TMP/$address.ask" >"$NET_TMP/$address.hear" &
		NET_SERVERS+=($!)
		exec {hold}>"$NET_TMP/$address.ask" {hear}<"$NET_TMP/$address.hear"
		HOLDS+=("$hold $hear")
	done
	asked answered
}
asked() { # HOW: each says so
	local hold hear said wait=$NET_WAIT_ALLOWED
	[ "$1" = answered ] || wait=1000
	for hold in "${HOLDS[@]}"; do
		read -r hold hear <<<"$hold"
		echo "$wait" >&"$hold"
		read -r -u "$hear" said
		net_is "$said" "$1" || return
	done
}
net_check "connections by a remote and a local backend's Service open" held 10.96.0.2 10.96.0.1
net_check "load a policy that allows the other backends" net_bulkhead load "$NET_TMP/other.ini"
net_check "the open connections stop" asked silent
cases flip web "3 8" "1 2"
net_check "load the first again" net_bulkhead load "$NET_TMP/told.ini"
cases "back again" web "1 2" "3 8"

net_check "load a policy that has only the range of Services" net_bulkhead load --force "$NET_TMP/range.ini"
cases range web "1 2 4 10" "3 6 8 11"
cases range wide "" "1 2 3 8 10 11"
net_check "load a policy without Services" net_bulkhead load --force "$NET_TMP/untold.ini"
cases untold wide "" "1 2 3 8 10 11"

net_end
