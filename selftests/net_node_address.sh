#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Addresses of the node that no input names: 169.254.x, where a node may have its DNS server, and those
# added after load. Packets that the node sends from them reach an isolated endpoint; no other host gains
# that by using them. An endpoint's policy treats them as the node's, as the addresses in its Node object
# and its link-local addresses.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="53 80"
net_start db web
dns=169.254.20.10 node6=fe80::ff:fe00:201 late4=10.66.0.1 late6=fd66::1 other4=10.1.1.1 other6=fd01::1 foreign4=172.18.0.1 foreign6=fd18::1
{
	net_db_and_web eth0
	cat <<-EOF2
	$(net_node_object)
	[admin-network-policy nodes]
	priority = 5
	subject = endpoints(role=web in namespaces())
	egress = Deny to nodes()
	[network-policy shop/db]
	endpoints = role=db
	types = Ingress, Egress
	EOF2
} >"$NET_TMP/policy.ini"
ip -n "$NET-node" addr add $dns/32 dev lo
# These addresses sort before those of the Node object.
ip -n "$NET-node" addr add $other4/32 dev lo
ip -n "$NET-node" addr add $other6/128 dev lo nodad
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"

net_allowed db udp $dns 53 "an isolated pod asks its node's DNS"
net_allowed db tcp $dns 53 "an isolated pod asks its node's DNS over TCP"
net_allowed node tcp "$(net_ip db)" 80 "the node reaches the pod from its DNS address" $dns
net_denied db udp "$(net_ip out)" 53 "the isolated pod asks no DNS server outside"
ip -n "$NET-node" addr add $late4/32 dev lo
ip -n "$NET-node" addr add $late6/128 dev lo nodad
for ends in "$late4 $(net_ip db) $foreign4" "$late6 $(net_ip6 db) $foreign6"; do
	read -r late db foreign <<<"$ends"
	net_allowed node tcp "$db" 80 "the node probes $db from $late, which was added after load" "$late"
	net_allowed node udp "$db" 53 "the node probes $db from $late by UDP" "$late"
	net_allowed db udp "$late" 53 "$db reaches $late"
	net_allowed db tcp "$late" 80 "$db reaches $late by TCP"
	net_denied web udp "$late" 53 "a pod that is denied the node does not reach $late"
	net_denied web tcp "$late" 80 "a pod that is denied the node does not reach $late by TCP"
	net_check "a packet that the node sends from a foreign address is evaluated as foreign" net_is \
		"$(net_moved net_frame node veth-db 02:00:00:00:02:01 "$(net_mac db)" udp $foreign "$db" 80)" \
		"drop 1 denied by the destination's policy"
	net_check "the same packet from outside is evaluated as foreign" net_is \
		"$(net_moved net_frame out eth0 02:00:00:00:07:02 02:00:00:00:07:01 udp $foreign "$db" 80)" \
		"drop 1 denied by the destination's policy"
	net_denied out tcp "$db" 80 "the outside does not reach $db"
done

# The node's addresses, in the Node object or not, and its link-local address.
for address in "$(net_ip node)" "$(net_ip6 node)" $dns $other4 $other6 $node6%eth0; do
	net_denied web tcp "$address" 80 "a pod that is denied the node does not reach $address"
	net_allowed db tcp "$address" 80 "a pod that is not denied the node reaches $address"
done
net_allowed web tcp "$(net_ip out)" 80 "a pod that is denied the node reaches the outside"
net_allowed web tcp "$(net_ip6 out)" 80 "a pod that is denied the node reaches the outside over IPv6"

# An address that the node has removed is evaluated as any other.
ip -n "$NET-node" addr del $late4/32 dev lo
ip -n "$NET-out" addr add $late4/32 dev lo
sleep 2
net_allowed web tcp $late4 80 "web reaches an address that moved from the node to a host outside"
net_denied db tcp $late4 80 "the isolated db does not reach that address any more"

net_end
