#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Endpoints on one bridge, which resolve each other by real ARP and neighbour discovery. Policy holds
# between them without routing, over link-local addresses, where only the MAC identifies an endpoint, and
# where the bridge routes. A host on a port that is no endpoint's cannot use an endpoint's address.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="80 443 7000"
net_start far

# db, web and job are endpoints on the bridge, stray is a host that is none. `far` is behind the node, their
# router.
NET_BRIDGE=(type bridge)
net_bridge db web job stray
net_bridge_routes
net_serve db web job stray
db4=10.50.0.1 db6=fd50::1 dblink=fe80::ff:fe00:401%eth0

{
	net_head
	net_bridged db 1
	net_bridged web 2
	net_bridged job 3
	net_endpoint far "mac = $(net_mac far)"
	cat <<-EOF2
	[network-policy shop/db]
	endpoints = role=db
	ingress = from endpoints(role=web) ports TCP/80, UDP/7000
	[network-policy shop/job]
	endpoints = role=job
	types = Egress
	egress = to endpoints(role=db) ports TCP/443, TCP/80
	[network-policy shop/far]
	endpoints = role=far
	ingress = from endpoints(role=web) ports TCP/80, UDP/7000
	EOF2
} >"$NET_TMP/policy.ini"

for address in $db4 $db6 $dblink; do
	net_allowed job tcp $address 80 "before load, job reaches $address"
done
net_bulkhead load "$NET_TMP/policy.ini" >"$NET_TMP/told" 2>&1
net_check "load" net_is $? 0
net_check "load guards the port that is no endpoint's" grep -q ", 1 other bridge ports$" "$NET_TMP/told"

for address in $db4 $db6 $dblink; do
	echo "# $address"
	net_allowed web tcp $address 80 "$address: web sends what policy allows"
	net_denied web tcp $address 443 "$address: web does not reach another port"
	net_denied job tcp $address 80 "$address: another pod does not reach the port"
	net_allowed web udp $address 7000 "$address: web sends UDP that policy allows"
	net_denied web udp $address 443 "$address: web does not reach another UDP port"
	net_denied job udp $address 7000 "$address: another pod sends no UDP"
	net_check "$address: a packet that the destination denies is one drop there" net_is \
		"$(net_moved net_ask web udp $address 443 $NET_WAIT_DENIED | grep -v "address that is not the endpoint's")" \
		"drop 1 denied by the destination's policy"
	net_check "$address: a packet that the source denies is one drop there" net_is \
		"$(net_moved net_ask job udp $address 7000 $NET_WAIT_DENIED | grep -v "address that is not the endpoint's")" \
		"drop 1 denied by the source's policy"
done
for address in 10.50.0.2 fd50::2 fe80::ff:fe00:402%eth0; do
	net_allowed db tcp $address 443 "a pod that no policy selects is reached at $address"
	net_denied job tcp $address 443 "a pod whose egress is isolated does not reach $address"
done

# An endpoint is identified by its port and MAC, not by its address alone.
net_check "job cannot send with web's address and MAC" net_is \
	"$(net_moved net_frame job eth0 02:00:00:00:04:02 02:00:00:00:04:01 udp 10.50.0.2 $db4 7000)" \
	"drop 1 source MAC that is not the endpoint's"

# The bridge routes packets of its ports.
for address in "$(net_ip far)" "$(net_ip6 far)"; do
	net_allowed web tcp "$address" 80 "web reaches $address, which the bridge routes to"
	net_denied web tcp "$address" 443 "web does not reach another port of $address"
	net_denied stray tcp "$address" 80 "a port without an endpoint does not reach $address"
done

# A frame that enters by a port that is no endpoint's is not taken for an endpoint's.
stray() { # SOURCE-MAC TO-MAC SOURCE DESTINATION
	net_moved net_frame stray eth0 "$1" "$2" udp "$3" "$4" 7000
}
claim="drop 1 claims an address of this node or its endpoints"
bridge=$(ip -n "$NET-node" -o link show br0 | grep -o 'ether [0-9a-f:]*' | cut -d' ' -f2)
own=02:00:00:00:04:04 webs=02:00:00:00:04:02 dbs=02:00:00:00:04:01
for ends in "10.50.0.4 10.50.0.2 $db4" "fd50::4 fd50::2 $db6"; do
	read -r stray web db <<<"$ends"
	net_check "$stray as itself is evaluated by policy" net_is "$(stray $own $dbs "$stray" "$db")" \
		"drop 1 denied by the destination's policy"
	net_check "$stray sends with web's address: a claim" net_is "$(stray $own $dbs "$web" "$db")" "$claim"
	net_check "$stray sends with web's address and MAC: a claim" net_is "$(stray $webs $dbs "$web" "$db")" "$claim"
	net_check "$stray sends with web's MAC and its own address: a claim" net_is "$(stray $webs $dbs "$stray" "$db")" "$claim"
done
net_check "stray sends with web's link-local address and MAC: a claim" net_is \
	"$(stray $webs $dbs fe80::ff:fe00:402 fe80::ff:fe00:401)" "$claim"

# The node has a link-local address on the bridge as well.
node_link=$(ip -n "$NET-node" -o -6 addr show br0 scope link | grep -o 'fe80[0-9a-f:]*')
net_allowed job tcp "$node_link%eth0" 80 "an isolated pod reaches its node's link-local address"
net_denied job tcp "fe80::ff:fe00:404%eth0" 80 "an isolated pod reaches no other link-local address"
net_allowed node tcp "fe80::ff:fe00:401%br0" 443 "the node reaches an isolated pod's link-local address"
net_denied stray tcp "fe80::ff:fe00:401%eth0" 443 "no other reaches an isolated pod's link-local address"
net_allowed web tcp "fe80::ff:fe00:404%eth0" 80 "a pod without policy reaches a link-local address"

# The address of a frame is one that the pod may reach, and the MAC leads to a host that is no endpoint. That host
# forwards nothing: it would answer by errors, some of them seconds later.
net_on stray sysctl -qw net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0
strays() { # COUNT POD POD'S-MAC MAC SOURCE DESTINATION: which of so many frames drop as astray
	net_moved net_frame "$2" -n "$1" eth0 "$3" "$4" udp "$5" "$6" 7000 | grep "^drop .* destination address$" ||
		echo none
}
refuses() { # the same: each is denied by the source's policy. job itself may send something else meanwhile
	local drops
	drops=$(net_moved net_frame "$2" -n "$1" eth0 "$3" "$4" udp "$5" "$6" 7000 |
		sed -n "s/^drop \([0-9]*\) denied by the source's policy$/\1/p")
	[ "${drops:-0}" -ge "$1" ]
}
astray() { # NAME
	net_check "web sends to the address of $1 by stray's MAC: astray" net_is "$(strays 3 web $webs $own "$2" "$3")" \
		"drop 3 MAC of another host than the destination address"
	net_check "web sends to the address of $1 by its MAC" net_is "$(strays 3 web $webs "$4" "$2" "$3")" none
}
for ends in "10.50.0.2 $db4 10.50.0.9 10.50.0.4" "fd50::2 $db6 fd50::9 fd50::4" \
	"fe80::ff:fe00:402 fe80::ff:fe00:401 $node_link fe80::ff:fe00:404"; do
	read -r web db node stray <<<"$ends"
	astray "db, $db" "$web" "$db" $dbs
	astray "the node, $node" "$web" "$node" "$bridge"
	net_check "web sends to stray at $stray" net_is "$(strays 3 web $webs $own "$web" "$stray")" none
done
# The bridge knows no MAC of an endpoint, or of the node, that is not on it: it floods such frames to whoever listens.
far_mac=$(net_mac far) far_side=$(ip -n "$NET-node" -o link show veth-far | grep -o 'ether [0-9a-f:]*' | cut -d' ' -f2)
for ends in "10.50.0.2 10.50.0.9 $(net_ip far)" "fd50::2 fd50::9 $(net_ip6 far)"; do
	read -r web node far <<<"$ends"
	net_check "web sends to the node, $node, by the MAC that the node has at far's link: astray" \
		net_is "$(strays 3 web $webs "$far_side" "$web" "$node")" "drop 3 MAC of another host than the destination address"
	net_check "web sends to $far, which is not on the bridge, by far's own MAC: astray" \
		net_is "$(strays 3 web $webs "$far_mac" "$web" "$far")" "drop 3 MAC of another host than the destination address"
done
# The node gets an address after the load; job may send to its node and to db alone.
late4=10.50.0.77 late6=fd50::77
net_ips node <<-EOF
	addr add $late4/24 dev br0
	addr add $late6/64 dev br0 nodad
EOF
for ends in "10.50.0.3 $late4 10.50.0.78" "fd50::3 $late6 fd50::78"; do
	read -r job late far <<<"$ends"
	for try in first second; do
		net_check "a $try frame of job's to the late address $late by stray's MAC: astray" \
			net_is "$(strays 3 job 02:00:00:00:04:03 $own "$job" "$late")" \
			"drop 3 MAC of another host than the destination address"
		net_check "a $try frame of job's to the late address $late by its MAC passes" \
			net_is "$(strays 3 job 02:00:00:00:04:03 "$bridge" "$job" "$late")" none
	done
	net_check "job does not reach $far by stray's MAC" refuses 3 job 02:00:00:00:04:03 $own "$job" "$far"
	net_check "web reaches $far by stray's MAC" net_is "$(strays 3 web $webs $own "${job%3}2" "$far")" none
done

net_check "unload before a load with other settings" net_bulkhead unload
net_check "load without questions to conntrack" net_bulkhead load --set ask-conntrack=0 "$NET_TMP/policy.ini"
for ends in "10.50.0.2 $db4 10.50.0.9" "fd50::2 $db6 fd50::9"; do
	read -r web db node <<<"$ends"
	astray "db without conntrack, $db" "$web" "$db" $dbs
	astray "the node without conntrack, $node" "$web" "$node" "$bridge"
	# The connections are open by now.
	astray "db in an open connection, $db" "$web" "$db" $dbs
	astray "the node in an open connection, $node" "$web" "$node" "$bridge"
done
net_check "unload before a load with the former settings" net_bulkhead unload
net_check "load with questions to conntrack" net_bulkhead load "$NET_TMP/policy.ini"

# A frame of an audited pod is counted once, at the last hook on its way.
sed '/^\[endpoint shop\/job\]/a audit = yes' "$NET_TMP/policy.ini" >"$NET_TMP/audit.ini"
net_check "load with job only audited" net_bulkhead load "$NET_TMP/audit.ini"
audited() { # "VERDICT PACKETS REASON" ARGUMENT...: a frame of job's
	net_check "$1: ${*:2}" net_is "$(net_moved net_frame job "${@:2}")" "$1"
}
jobs=02:00:00:00:04:03 other=02:00:00:00:09:09
for ends in "10.50.0.3 10.50.0.2 $db4" "fd50::3 fd50::2 $db6"; do
	read -r job web db <<<"$ends"
	for pod in db web; do
		net_nobody $pod "$job"
	done
	audited "audit 1 denied by the source's policy" eth0 $jobs $webs udp "$job" "$web" 9
	audited "drop 1 denied by the destination's policy" eth0 $jobs $dbs udp "$job" "$db" 9
	audited "audit 1 source MAC that is not the endpoint's" eth0 $other $webs udp "$job" "$web" 9
	audited "$claim" eth0 $jobs $dbs udp "$web" "$db" 7000
	for pod in db web; do
		ip -n "$NET-$pod" route del blackhole "$job"
	done
done
# If the address cannot be parsed, the MAC identifies the destination.
audited "drop 1 more than two VLAN tags" -t 1 -t 2 -t 3 -t 4 eth0 $jobs $dbs udp "$job" "$db" 9
audited "audit 1 more than two VLAN tags" -t 1 -t 2 -t 3 -t 4 eth0 $jobs $own udp "$job" "$db" 9
audited "audit 1 ARP or neighbour discovery that speaks for others" eth0 $jobs $dbs \
	arp $jobs 10.50.0.8

# The node routes the bridge's frames: its hook at the interface that they leave by does not count them again, nor
# if it masquerades their source, which then names no endpoint.
for ends in "ip 10.50.0.3 $(net_ip out)" "ip6 fd50::3 $(net_ip6 out)"; do
	read -r family job out <<<"$ends"
	net_nobody out "$job" "$(net_ip node)" "$(net_ip6 node)"
	audited "audit 1 denied by the source's policy" eth0 $jobs "$bridge" udp "$job" "$out" 9
	net_on node nft "add table $family masked
		add chain $family masked after { type nat hook postrouting priority srcnat; }
		add rule $family masked after $family saddr $job counter masquerade"
	audited "audit 1 denied by the source's policy" eth0 $jobs "$bridge" udp "$job" "$out" 10
	net_check "$family: the node has masqueraded the frame" grep -q 'packets [1-9]' <(net_on node nft list table $family masked)
	net_on node nft delete table $family masked
done

# stray's port as an uplink: policy applies there too, and the node's and endpoints' addresses cannot be
# claimed.
net_check "load with stray's port for an uplink" \
	bash -c "nsenter --net=/run/netns/$NET-node $BULKHEAD load --pin $NET_PIN --uplink veth-stray \
		$NET_TMP/policy.ini >$NET_TMP/told 2>&1"
net_check "stray's port counts as an uplink, not as another port" net_is "$(grep -c 'bridge ports' "$NET_TMP/told")" 0
for ends in "10.50.0.4 10.50.0.2 10.50.0.9 $(net_ip far)" "fd50::4 fd50::2 fd50::9 $(net_ip6 far)"; do
	read -r stray web node far <<<"$ends"
	net_check "stray sends with $web to a routed endpoint: a claim" net_is "$(stray $own "$bridge" "$web" "$far")" "$claim"
	net_check "stray sends with the node's $node: a claim" net_is "$(stray $own "$bridge" "$node" "$far")" "$claim"
	net_check "$stray itself is evaluated by policy" net_is "$(stray $own "$bridge" "$stray" "$far")" \
		"drop 1 denied by the destination's policy"
	net_allowed stray tcp "$web" 443 "$stray reaches a pod without policy"
	net_allowed web tcp "$far" 80 "$web is routed from its own port"
done

# The bridge itself as the uplink: packets that its ports send to the node pass it and are no claims.
net_check "load with the bridge for an uplink" net_bulkhead load --uplink br0 "$NET_TMP/policy.ini"
for address in 10.50.0.9 fd50::9; do
	net_allowed web tcp $address 80 "with the bridge as uplink a pod reaches its node at $address"
done
net_allowed web tcp "$(net_ip far)" 80 "with the bridge as uplink a pod reaches a routed pod"
net_denied job tcp "$(net_ip far)" 80 "with the bridge as uplink a denied pod does not reach the routed pod"
net_check "with the bridge as uplink stray sends with the node's address: a claim" net_is "$(stray $own "$bridge" 10.50.0.9 "$(net_ip far)")" \
	"$claim"

sed -i 's/role=web) ports TCP\/80/role=job) ports TCP\/80/' "$NET_TMP/policy.ini"
net_check "load another policy" net_bulkhead load "$NET_TMP/policy.ini"
for address in $db4 $db6 $dblink; do
	net_allowed job tcp $address 80 "$address: job sends what the new policy allows"
	net_denied web tcp $address 80 "$address: web does not send what only the old policy allowed"
done

net_end
