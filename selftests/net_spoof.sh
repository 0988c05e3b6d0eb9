#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Spoofing: an endpoint forges its address, MAC, ARP and neighbour advertisements; a host beyond the uplink
# forges an endpoint's or the node's address. Genuine packets of each pass.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS=80
net_start db web vpn
gateway=02:00:00:00:02:01
db_mac=$(net_mac db) web_mac=$(net_mac web)

cat >"$NET_TMP/policy.ini" <<EOF
$(net_head "uplink = eth0")
$(net_node_object)
$(net_endpoint db "mac = $db_mac")
$(net_endpoint web "mac = $web_mac")
$(net_endpoint vpn "mac = $(net_mac vpn)" "allow-source = 10.9.0.0/16, fd99::/64")
EOF

# Clients behind a gateway: addresses that are no pod's, one for web and one for vpn.
client() { # POD ADDRESS
	local family=-4
	[[ $2 != *:* ]] || family=-6
	ip -n "$NET-$1" addr add "$2" dev lo
	ip -n "$NET-node" $family route add "$2" dev "veth-$1"
	net_neighbour node "veth-$1" "$(net_mac "$1")" "$2"
}
for client in "vpn 10.9.0.1" "vpn fd99::1" "vpn 10.8.0.1" "vpn fd98::1" "web 10.9.0.2" "web fd99::2"; do
	read -r pod address <<<"$client"
	client "$pod" "$address"
done

net_allowed vpn udp "$(net_ip out)" 80 "before load, a pod may send as anybody" 10.8.0.1
net_allowed vpn udp "$(net_ip6 out)" 80 "before load, a pod may send as anybody over IPv6" fd98::1
net_allowed web udp "$(net_ip out)" 80 "before load, another pod may send as anybody" 10.9.0.2
net_allowed web udp "$(net_ip6 out)" 80 "before load, another pod may send as anybody over IPv6" fd99::2
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"

source="drop 1 source address that is not the endpoint's"
mac="drop 1 source MAC that is not the endpoint's"
claim="drop 1 claims an address of this node or its endpoints"
others="drop 1 ARP or neighbour discovery that speaks for others"
new="pass 1 opens a connection that policy allows"
known="pass 1 of an allowed connection"
expect() { # COUNTERS NAME HOST FRAME-ARGUMENT...
	net_check "$2" net_moves "$1" net_frame "${@:3}"
}

nobody4=172.18.0.1 nobody6=fd18::1
net_nobody out $nobody4 $nobody6
net_nobody web $nobody4 $nobody6

for version in 4 6; do
	address=net_ip out=$nobody4
	[ $version = 4 ] || address=net_ip6 out=$nobody6
	db=$($address db) web=$($address web) node=$($address node)
	echo "# IPv$version: what an endpoint sends"
	expect "$new" "web as itself" web eth0 "$web_mac" $gateway udp "$web" "$out" 80
	expect "$source" "web by db's address" web eth0 "$web_mac" $gateway udp "$db" "$out" 80
	expect "$source" "web by nobody's" web eth0 "$web_mac" $gateway udp "${web%?}99" "$out" 80
	expect "$source" "web by the node's" web eth0 "$web_mac" $gateway udp "$node" "$out" 80
	expect "$mac" "web by db's MAC" web eth0 "$db_mac" $gateway udp "$web" "$out" 80
	expect "$source" "db by web's address, of a live connection" \
		db eth0 "$db_mac" $gateway udp "$web" "$out" 80
	expect "$mac" "by its address and its MAC" db eth0 "$web_mac" $gateway udp "$web" "$out" 80
	expect "$known" "web, of the same connection" web eth0 "$web_mac" $gateway udp "$web" "$out" 80
	expect "$new" "db as itself" db eth0 "$db_mac" $gateway udp "$db" "$out" 80

	echo "# IPv$version: what comes in by the uplink"
	beyond=(out eth0 02:00:00:00:07:02 02:00:00:00:07:01)
	expect "$new" "from outside to web" "${beyond[@]}" udp "$out" "$web" 80
	expect "$claim" "by db's address" "${beyond[@]}" udp "$db" "$web" 80
	expect "$claim" "by web's own" "${beyond[@]}" udp "$web" "$web" 80
	expect "$claim" "by the node's" "${beyond[@]}" udp "$node" "$web" 80
	expect "$claim" "to the node by its own" "${beyond[@]}" udp "$node" "$node" 80
	expect "$claim" "to the node by db's" "${beyond[@]}" udp "$db" "$node" 80
	expect "" "to the node from outside" "${beyond[@]}" udp "$out" "$node" 80
done

echo "# ARP and neighbour discovery"
passed() {
	net_counters | sed -n 's/^pass \([0-9]*\) ARP, neighbour .*/\1/p'
}
passes() { # COMMAND...: one that sends such a frame
	local before
	before=$(passed)
	"$@"
	test "$(passed)" -gt "$before"
}
all=ff:ff:ff:ff:ff:ff all6=33:33:00:00:00:01
web4=$(net_ip web) db4=$(net_ip db) web6=$(net_ip6 web) db6=$(net_ip6 db)
net_check "web's ARP about itself passes" passes net_frame web eth0 "$web_mac" $all arp "$web_mac" "$web4"
expect "$others" "ARP about db's address" web eth0 "$web_mac" $all arp "$web_mac" "$db4"
expect "$others" "ARP about db's MAC" web eth0 "$web_mac" $all arp "$db_mac" "$web4"
expect "$mac" "ARP in db's frame" web eth0 "$db_mac" $all arp "$db_mac" "$web4"
net_check "web's advertisement of itself passes" passes \
	net_frame web eth0 "$web_mac" $all6 nd "$web6" ff02::1 "$web_mac" "$web6"
expect "$others" "an advertisement of db's address" web eth0 "$web_mac" $all6 nd "$web6" ff02::1 "$web_mac" "$db6"
expect "$others" "an advertisement of db's MAC" web eth0 "$web_mac" $all6 nd "$web6" ff02::1 "$db_mac" "$web6"
expect "$source" "an advertisement by db's address" web eth0 "$web_mac" $all6 nd "$db6" ff02::1 "$web_mac" "$web6"
expect "$mac" "ARP in db's frame" web eth0 "$db_mac" $all6 nd "$web6" ff02::1 "$db_mac" "$web6"

echo "# allow-source"
for end in "$(net_ip out) 10.9.0.1 10.8.0.1 10.9.0.2" "$(net_ip6 out) fd99::1 fd98::1 fd99::2"; do
	read -r out client other foreign <<<"$end"
	net_allowed vpn udp "$out" 80 "a gateway sends as its client $client" "$client"
	net_denied vpn udp "$out" 80 "a gateway does not send as $other" "$other"
	net_denied web udp "$out" 80 "another pod does not send as a client, $foreign" "$foreign"
	net_allowed web udp "$out" 80 "the other pod sends as itself"
	net_check "the gateway's forged packet is dropped for its source address" net_is \
		"$(net_moved net_ask vpn udp "$out" 80 $NET_WAIT_DENIED "$other")" "$source"
done

net_end
