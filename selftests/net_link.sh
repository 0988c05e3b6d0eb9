#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Spoofing on a bridge of endpoints: no frame, from an endpoint's port or another port, takes over another
# host's MAC or link-local address or claims to be the router. Hosts may announce their own addresses.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="80 7000"
net_start far

# Endpoints on a bridge (job without a known MAC, quiet only audited), and stray, which is none. Who
# routes does not announce it.
bridge=02:00:00:00:05:01
net_bridge db web job quiet stray
net_bridge_node
for pod in "${NET_BRIDGED[@]}"; do
	net_on "$pod" sh -c 'echo 0 >/proc/sys/net/ipv6/conf/all/forwarding
		echo 0 >/proc/sys/net/ipv4/ip_forward
		echo 1 >/proc/sys/net/ipv6/conf/eth0/accept_redirects'
done
net_serve "${NET_BRIDGED[@]}"
ip -n "$NET-node" addr add fe80::9/64 dev br0 nodad
ip -n "$NET-stray" addr add fe80::77/64 dev eth0 nodad
db=02:00:00:00:04:01 web=02:00:00:00:04:02 quiet=02:00:00:00:04:04 stray=02:00:00:00:04:05
db6=fe80::ff:fe00:401 web6=fe80::ff:fe00:402 job6=fe80::ff:fe00:403 stray6=fe80::ff:fe00:405
node6=fe80::ff:fe00:501 gateway6=fe80::9 all=33:33:00:00:00:01

{
	net_head
	net_bridged db 1
	net_bridged web 2
	net_bridged job 3 | grep -v '^mac ='
	net_bridged quiet 4 "audit = yes"
	cat <<-EOF2
	[network-policy shop/db]
	endpoints = role=db
	ingress = from endpoints(role=web) ports TCP/80, UDP/7000
	ingress = from endpoints(role=job) ports TCP/80, UDP/7001
	ingress = from cidr(10.50.0.9/32), cidr(fd07::1/128), cidr(fd50::9/128) ports UDP/443
	[network-policy shop/job]
	endpoints = role=job
	types = Ingress, Egress
	ingress = from endpoints(role=web) ports TCP/80
	egress = to endpoints(role=db) ports TCP/80, UDP/7000-7001
	EOF2
} | grep -v '^mode =' >"$NET_TMP/policy.ini"

port_of() { # MAC: which port the bridge sends it to
	net_on node bridge fdb show br br0 | sed -n "s/^$1 dev \([^ ]*\) .*/\1/p" | head -n 1
}
knows() { # HOST INTERFACE ADDRESS: the MAC that it has for it
	ip -n "$NET-$1" neigh show "$3" dev "$2" | grep -o '02:00[0-9a-f:]*'
}
pod_number() {
	local i
	for i in "${!NET_BRIDGED[@]}"; do
		[ "${NET_BRIDGED[$i]}" != "$1" ] || echo $((i + 1))
	done
}
fragments() { # FROM OWN-MAC OTHER-MAC SOURCE DESTINATION: one of its own, and one more by another's
	net_frame "$1" eth0 "$2" $db first "$4" "$5" 7000 77
	net_frame "$1" eth0 "$3" $db rest "$4" "$5" 77
}

# The effect of each attack.
takes_mac() { # COMMAND...: where web's MAC is by then
	net_frame web eth0 $web ff:ff:ff:ff:ff:ff arp $web 0.0.0.0
	"$@"
	port_of $web
}
takes_address() { # HOST INTERFACE ADDRESS MAC COMMAND...: which MAC it has for it, where it had that
	ip -n "$NET-$1" neigh replace "$3" dev "$2" lladdr "$4" nud stale
	"${@:5}"
	knows "$1" "$2" "$3"
}
detected() { # COMMAND...: whether db, which is about to have its address, does not get it
	# Duplicate address detection lasts a minute, longer than the machine ever stands still.
	net_on db sh -c 'echo 60000 >/proc/sys/net/ipv6/neigh/eth0/retrans_time_ms
		echo 1 >/proc/sys/net/ipv6/conf/eth0/accept_dad'
	ip -n "$NET-db" addr del $db6/64 dev eth0
	ip -n "$NET-db" addr add $db6/64 dev eth0
	"$@"
	ip -n "$NET-db" addr show dev eth0 to $db6 | grep -o dadfailed
	net_on db sh -c 'echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
		echo 1000 >/proc/sys/net/ipv6/neigh/eth0/retrans_time_ms'
	ip -n "$NET-db" addr del $db6/64 dev eth0
	ip -n "$NET-db" addr add $db6/64 dev eth0 nodad
}
hears() { # COMMAND...: how many datagrams of it come to db
	heard_by db "$@"
}
heard_by() { # HOST COMMAND...
	local before
	before=$(datagrams "$1")
	"${@:2}"
	echo $(($(datagrams "$1") - before))
}
datagrams() { # HOST
	net_on "$1" awk '/^Udp6(InDatagrams|NoPorts) / { n += $2 } /^Udp: [0-9]/ { n += $2 + $3 }
		END { print n }' /proc/net/snmp6 /proc/net/snmp
}
# Tries to reach stray by packets that job may send to db or the node only.
by_way_of() { # MAC SOURCE DESTINATION
	net_frame job eth0 02:00:00:00:04:03 "$1" udp "$2" "$3" 7001
	net_frame job eth0 02:00:00:00:04:03 $stray udp "$2" "$3" 7001
}
advertised() { # COMMAND...: which routers db has by then
	"$@"
	ip -n "$NET-db" -6 route show default proto ra | grep -o 'via [^ ]*'
	ip -n "$NET-db" -6 route flush proto ra
}
redirected() { # COMMAND...: where db sends what it sends to fd60::8
	ip -n "$NET-db" -6 route replace fd60::8 via $gateway6 dev eth0
	"$@"
	ip -n "$NET-db" -6 route get fd60::8 | grep -o 'via [^ ]*' || echo "to itself"
	ip -n "$NET-db" -6 route del fd60::8
	ip -n "$NET-db" -6 route flush cache
}

# Without the guard, an attack is repeated: the victim may have sent a frame meanwhile.
how=hijacked
check() { # NAME HIJACKED KEPT COMMAND...
	local expected=$2 seen try=0
	[ $how = hijacked ] || expected=$3 try=4
	until seen=$("${@:4}"); [ "$seen" = "$expected" ] || [ $((++try)) -ge 5 ]; do :; done
	net_check "$1: $how" net_is "$seen" "$expected"
}
attacks() { # POD...: by each of them
	local pod own pod6 address ends
	for pod; do
		own=02:00:00:00:04:0$(pod_number "$pod") pod6=fe80::ff:fe00:40$(pod_number "$pod")
		echo "# $pod, $how"
		for ends in "10.50.0.${own: -1} 10.50.0.1" "fd50::${own: -1} fd50::1"; do
			# shellcheck disable=SC2086
			check "a later fragment by web's MAC, $ends" "veth-$pod" veth-web \
				takes_mac fragments "$pod" $own $web $ends
		done
		check "a frame by web's MAC to an audited pod" "veth-$pod" veth-web takes_mac \
			net_frame "$pod" eth0 $web $quiet udp "10.50.0.${own: -1}" 10.50.0.4 7000
		check "a frame by web's MAC to an audited pod over IPv6" "veth-$pod" veth-web takes_mac \
			net_frame "$pod" eth0 $web $quiet udp "fd50::${own: -1}" fd50::4 7000
		for ends in "10.50.0.2 10.50.0.4" "fd50::2 fd50::4" "$web6 fd50::4"; do
			# shellcheck disable=SC2086
			check "a packet by web's address to an audited pod, $ends" 1 0 \
				heard_by quiet net_frame "$pod" eth0 $own $quiet udp $ends 7001
		done
		for address in $node6 $gateway6; do
			check "an advertisement of the node's $address" $own $bridge takes_address \
				db eth0 $address $bridge \
				net_frame "$pod" eth0 $own $db nd "$pod6" $db6 $own $address
		done
		check "an advertisement of web's address" $own $web takes_address db eth0 $web6 $web \
			net_frame "$pod" eth0 $own $db nd "$pod6" $db6 $own $web6
		check "an advertisement of web's address to the node" $own $web takes_address node br0 $web6 $web \
			net_frame "$pod" eth0 $own $bridge nd "$pod6" $node6 $own $web6
		check "an advertisement of web's address behind nine extension headers" $own $web takes_address node br0 fd50::2 $web \
			net_frame "$pod" -x 9 eth0 $own $bridge nd "$pod6" $node6 $own fd50::2
		check "an answer to db's duplicate address detection" dadfailed "" detected \
			net_frame "$pod" eth0 $own $all nd "$pod6" ff02::1 $own $db6
		check "a duplicate address detection for db's address" dadfailed "" detected \
			net_frame "$pod" eth0 $own 33:33:ff:00:04:01 dad :: ff02::1:ff00:401 $db6
		check "a router advertisement" "via $pod6" "" advertised \
			net_frame "$pod" eth0 $own $db ra "$pod6" $db6
		check "a redirect by the gateway's address" "to itself" "via $gateway6" redirected \
			net_frame "$pod" eth0 $own $db redirect $gateway6 $db6 $own fd60::8
		for address in $node6 $gateway6; do
			check "a packet by $address and the bridge's MAC" 1 0 hears \
				net_frame "$pod" eth0 $bridge $db udp $address $db6 443
			check "a packet by $address and the sender's own MAC" 1 0 hears net_frame "$pod" eth0 $own $db udp $address $db6 443
		done
		check "a packet by web's link-local address and the sender's own MAC" 1 0 hears net_frame "$pod" eth0 $own $db udp $web6 $db6 7000
	done
}
# The announcements that each host may make, before and after load.
own() {
	local pod own pod6 address
	echo "# everybody of himself"
	for pod in job stray; do
		own=02:00:00:00:04:0$(pod_number $pod) pod6=fe80::ff:fe00:40$(pod_number $pod)
		# A link-local address that is not made from a MAC: the first host to announce it owns it.
		for address in "$pod6" fe80::7$((2 + $(pod_number $pod))); do
			net_check "$pod advertises its $address" net_is "$(takes_address db eth0 "$address" \
				02:00:00:00:09:09 net_frame $pod eth0 "$own" $db nd "$pod6" $db6 "$own" "$address")" "$own"
		done
		net_check "$pod advertises its $address to the node behind eight extension headers" net_is "$(takes_address node br0 \
			"$pod6" 02:00:00:00:09:09 net_frame $pod -x 8 eth0 "$own" $bridge nd "$pod6" $node6 "$own" "$pod6")" "$own"
		ip -n "$NET-db" neigh flush dev eth0
		ip -n "$NET-node" neigh flush dev br0
	done
	net_check "the node sends a router advertisement" net_is \
		"$(advertised net_frame node br0 $bridge $db ra $node6 $db6)" "via $node6"
	net_check "the node sends a redirect" net_is "$(redirected \
		net_frame node br0 $bridge $db redirect $gateway6 $db6 $bridge fd60::8)" "to itself"
	net_check "the node sends a packet from its link-local address" net_is \
		"$(hears net_frame node br0 $bridge $db udp $node6 $db6 443)" 1
	for ends in "10.50.0.5 10.50.0.4 quiet" "fd50::5 fd50::4 quiet" "$stray6 fd50::4 quiet" \
		"10.50.0.5 10.50.0.2 web" "fd50::5 fd50::2 web"; do
		# shellcheck disable=SC2086
		set -- $ends
		net_check "stray sends a packet from $1 to $2" net_is "$(heard_by "$3" net_frame stray eth0 $stray \
			"02:00:00:00:04:0$(pod_number "$3")" udp "$1" "$2" 7001)" 1
	done
	for ends in "10.50.0.3 10.50.0.1" "fd50::3 fd50::1"; do
		# shellcheck disable=SC2086
		net_check "job sends a packet to db, $ends" net_is "$(hears net_frame job eth0 \
			02:00:00:00:04:03 $db udp $ends 7001)" 1
	done
	net_allowed stray tcp "$web6%eth0" 80 "stray reaches a pod without policy"
	net_allowed web tcp "$stray6%eth0" 80 "a pod without policy reaches stray"
	net_allowed web tcp "fe80::77%eth0" 80 "a pod without policy reaches stray's second address"
	net_allowed node tcp "$job6%br0" 80 "the node reaches a pod"
	net_allowed web tcp "$db6%eth0" 80 "web reaches db by a link-local address"
}

own
attacks job stray
departs() {
	for ends in "$db 10.50.0.3 10.50.0.5" "$db fd50::3 fd50::5"; do
		# shellcheck disable=SC2086
		check "a packet where policy allows none, by way of $ends" 1 0 heard_by stray by_way_of $ends
	done
	# The node itself sends the first of these on.
	check "two packets where policy allows none, by way of the node" 2 0 heard_by stray by_way_of $bridge $job6 $stray6
}
departs
for address in fe80::77%eth0 $stray6%eth0; do
	net_allowed job tcp $address 80 "before load, job reaches $address"
done
net_allowed stray tcp $job6%eth0 80 "before load, stray reaches job"
net_check "load finds the endpoints on the bridge" net_bulkhead load "$NET_TMP/policy.ini"
net_check "the same load again writes nothing" net_is "$(net_writes "$NET_TMP/policy.ini")" 0
how=kept
attacks job stray
departs
own
# An unknown address does not count as the node's.
for address in fe80::77%eth0 $stray6%eth0; do
	net_denied job tcp $address 80 "job does not reach $address"
done
net_denied stray tcp $job6%eth0 80 "stray does not reach job"
net_allowed job tcp 10.50.0.1 80 "job reaches db"
net_allowed job tcp fd50::1 80 "job reaches db over IPv6"
net_allowed job tcp $node6%eth0 80 "job reaches the node"

# The same with stray's port as an uplink. The node accepts router advertisements from there.
net_check "load with stray's port for an uplink" net_bulkhead load --uplink veth-stray "$NET_TMP/policy.ini"
attacks stray
# An answer to a packet from before may still come and count as an error about no connection.
net_check "a router advertisement by the uplink reaches the node" net_is \
	"$(net_moved net_frame stray eth0 $stray $bridge ra $stray6 $node6 | grep -v 'ICMP error about no connection')" ""
own

net_end
