#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Endpoints on one bridge, that find each other by real ARP and neighbour discovery: policy holds
# between them without a route, and over link-local addresses, where only the MAC says who is who.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="80 443 7000"
net_start
BRIDGED=(db web job)

# Pods on a bridge that has no address of its own.
ip -n "$NET-node" link add br0 type bridge
ip -n "$NET-node" link set br0 up
number=0
for pod in "${BRIDGED[@]}"; do
	number=$((number + 1))
	net_host "$pod"
	net_link node "veth-$pod" 02:00:00:00:03:0$number "$pod" eth0 02:00:00:00:04:0$number
	ip -n "$NET-node" link set "veth-$pod" master br0
	ip -n "$NET-$pod" addr add 10.50.0.$number/24 dev eth0
	ip -n "$NET-$pod" addr add fd50::$number/64 dev eth0 nodad
	net_serve "$pod"
done
db4=10.50.0.1 db6=fd50::1 dblink=fe80::ff:fe00:401%eth0

endpoint() { # NAME NUMBER
	cat <<-EOF2
	[endpoint shop/$1]
	node = worker-1
	interface = veth-$1
	mode = l2
	ip = 10.50.0.$2, fd50::$2
	mac = 02:00:00:00:04:0$2
	labels = role=$1
	EOF2
}
{
	printf '%s\n' "[bulkhead]" "node = worker-1"
	endpoint db 1
	endpoint web 2
	endpoint job 3
	cat <<-EOF2
	[network-policy shop/db]
	endpoints = role=db
	ingress = from endpoints(role=web) ports TCP/80, UDP/7000
	[network-policy shop/job]
	endpoints = role=job
	types = Egress
	egress = to endpoints(role=db) ports TCP/443, TCP/80
	EOF2
} >"$NET_TMP/policy.ini"

for address in $db4 $db6 $dblink; do
	net_allowed job tcp $address 80 "before load, job reaches $address"
done
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
net_check "no pod has a route to another" net_is "$(ip -n "$NET-node" route show | grep 10.50)" ""

for address in $db4 $db6 $dblink; do
	echo "# $address"
	net_allowed web tcp $address 80 "what policy allows"
	net_denied web tcp $address 443 "another port"
	net_denied job tcp $address 80 "another pod"
	net_allowed web udp $address 7000 "UDP"
	net_denied web udp $address 443 "another port of UDP"
	net_denied job udp $address 7000 "another pod over UDP"
	net_check "denied at the destination" net_is \
		"$(net_moved net_ask web udp $address 443 $NET_WAIT_DENIED)" \
		"drop 1 denied by the destination's policy"
	net_check "and at the source" net_is \
		"$(net_moved net_ask job udp $address 7000 $NET_WAIT_DENIED)" \
		"drop 1 denied by the source's policy"
done
for address in 10.50.0.2 fd50::2 fe80::ff:fe00:402%eth0; do
	net_allowed db tcp $address 443 "a pod that no policy selects, $address"
	net_denied job tcp $address 443 "but not from one that may not"
done

# Who is who by MAC: the address alone is not enough.
net_check "a frame by web's address and MAC, out of job's interface" net_is \
	"$(net_moved net_frame job eth0 02:00:00:00:04:02 02:00:00:00:04:01 udp 10.50.0.2 $db4 7000)" \
	"drop 1 source MAC that is not the endpoint's"

sed -i 's/role=web) ports TCP\/80/role=job) ports TCP\/80/' "$NET_TMP/policy.ini"
net_check "another policy" net_bulkhead load "$NET_TMP/policy.ini"
for address in $db4 $db6 $dblink; do
	net_allowed job tcp $address 80 "$address: what it allows"
	net_denied web tcp $address 80 "and what only the first did"
done

net_end
