#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Datagrams of 60,000 bytes that real stacks fragment and reassemble: a datagram passes whole or not at all.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS=80
net_start db web bad
db4=$(net_ip db) db6=$(net_ip6 db)
web_mac=$(net_mac web)
gateway=02:00:00:00:02:01

cat >"$NET_TMP/policy.ini" <<EOF
$(net_db_and_web eth0)
[network-policy shop/db]
endpoints = role=db
ingress = from endpoints(role=web), cidr(192.168.7.0/24), cidr(fd07::/64) ports UDP/7000
$(net_endpoint bad)
[network-policy shop/bad]
endpoints = role=bad
types = Ingress, Egress
EOF

arrives() { # FROM TO ADDRESS PORT
	net_pair "$1" "$2" udp "$3" "$4" 60000
}
lost() { # FROM TO ADDRESS PORT
	WAIT=$NET_WAIT_DENIED net_pair "$1" "$2" udp "$3" "$4" 60000
	net_is $? 1
}

net_check "before load, a datagram of many fragments arrives" arrives web db "$db4" 7001
net_check "before load, a datagram of many fragments arrives over IPv6" arrives web db "$db6" 7001
# On a busy machine the floods below take longer than a first fragment is remembered for, 30 s.
net_check "load" net_bulkhead load --set timeout-fragment=600 "$NET_TMP/policy.ini"

for from in web out; do
	for address in "$db4" "$db6"; do
		# At an MTU of 1,500 bytes, a fragment carries 1,480 bytes over IPv4 and 1,448 over IPv6.
		later=$((60008 / 1480))
		[ "$address" = "$db4" ] || later=$((60008 / 1448))
		net_check "a datagram of many fragments from $from to an allowed port of $address arrives" \
			arrives $from db "$address" 7000
		net_check "a datagram of many fragments from $from to a denied port of $address is lost" lost $from db "$address" 7001
		net_check "policy denies the first fragment to the denied port; the others lack a first one" \
			net_is "$(net_moved lost $from db "$address" 7001)" \
			"$(printf '%s\n' "drop 1 denied by the destination's policy" \
				"drop $later fragment whose first was not let through")"
		net_check "no fragment of an allowed datagram is dropped" \
			net_is "$(net_moved arrives $from db "$address" 7000 | grep -c '^drop')" 0
	done
done
net_check "an answer of many fragments arrives" arrives db web "$(net_ip web)" 7001
net_check "an answer of many fragments arrives over IPv6" arrives db web "$(net_ip6 web)" 7001

no_first="drop 1 fragment whose first was not let through"
frame() { # KIND SOURCE...: from web, to its gateway
	net_frame web eth0 "$web_mac" $gateway "$@"
}
both() { # SOURCE ADDRESS PORT ID: a first fragment, then the last
	frame first "$1" "$2" "$3" "$4"
	frame rest "$1" "$2" "$4"
}
for pair in "$(net_ip web) $db4" "$(net_ip6 web) $db6"; do
	read -r from to <<<"$pair"
	net_check "$from to $to: a later fragment without a first is dropped" \
		net_is "$(net_moved frame rest "$from" "$to" 1)" "$no_first"
	net_check "$from to $to: a later fragment after its first passes" net_is "$(net_moved both "$from" "$to" 7000 2)" \
		"$(printf '%s\n' "pass 1 opens a connection that policy allows" \
			"pass 1 follows its first fragment")"
	net_check "$from to $to: a later fragment of another datagram is dropped" \
		net_is "$(net_moved frame rest "$from" "$to" 3)" "$no_first"
	net_check "$from to $to: a later fragment after a denied first is dropped" \
		net_is "$(net_moved both "$from" "$to" 7001 4)" \
		"$(printf '%s\n' "drop 1 denied by the destination's policy" "$no_first")"
done

net_bulkhead monitor --last 100 >"$NET_TMP/last"
net_check "monitor names the protocol of a later fragment, and no port" \
	grep -q " UDP from endpoint ([^ ]*): fragment whose first was not let through" "$NET_TMP/last"
net_check "monitor names the port of a first fragment" \
	grep -q " UDP/7001 to endpoint ([^ ]*): denied by the destination's policy" "$NET_TMP/last"

# Of an isolated pod's fragments, those to its own node pass. They take no place of another's.
flood() { # ADDRESS NODE: more first fragments than the map has places for one
	net_frame bad -p -n 60000 eth0 "$(net_mac bad)" $gateway first "$1" "$2" 7000 1000
}
outside() { # KIND SOURCE...: to the node
	net_frame out eth0 02:00:00:00:07:02 02:00:00:00:07:01 "$@"
}
amid() { # web|out SOURCE ADDRESS FLOOD-SOURCE NODE: a first fragment, the flood, the last fragment
	local how=frame
	[ "$1" = web ] || how=outside
	$how first "$2" "$3" 7000 77
	flood "$4" "$5"
	net_moved $how rest "$2" "$3" 77
}
for family in 4 6; do
	own=$(net_ip web) far=$(net_ip out) to=$db4 from=$(net_ip bad) node=$(net_ip node)
	[ $family = 4 ] || own=$(net_ip6 web) far=$(net_ip6 out) to=$db6 from=$(net_ip6 bad) node=$(net_ip6 node)
	net_check "a pod's fragments pass amid another pod's flood of first ones, IPv$family" \
		net_is "$(amid web "$own" "$to" "$from" "$node")" "pass 1 follows its first fragment"
	net_check "a fragment from outside passes amid a pod's flood of first ones, IPv$family" \
		net_is "$(amid out "$far" "$to" "$from" "$node")" "pass 1 follows its first fragment"
	net_check "the flood itself passes, IPv$family" net_is "$(net_moved flood "$from" "$node" | grep -c ^drop)" 0
done

net_end
