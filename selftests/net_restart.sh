#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A node with the CNI plugin restarts: no pod is added before the kept policy is active; then each pod's
# name identifies it, although the addresses from before the restart are given to other pods.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"

net_start
cni_start
cni_conf ptp "$(cni_ptp 10.50.0.0/24 fd50::/64)" "$(cni_own)"
state=$NET_TMP/kept
policy() { # ADDRESS-LINE-OF-DB ADDRESS-LINE-OF-WEB: a cluster's snapshot
	cat <<-EOF2
	[bulkhead]
	node = worker-1
	[endpoint shop/db]
	$1
	labels = role=db
	[endpoint shop/web]
	$2
	labels = role=web
	[network-policy shop/db]
	endpoints = role=db
	types = Ingress, Egress
	ingress = from endpoints(role=web) ports TCP/6379
	EOF2
}
come() { # POD
	cni_pod "$1" && cni_named "shop/$1" ptp ADD "$1" || return
	printf -v "$1" %s "$(cni_address)" && printf -v "$1"6 %s "$(cni_address 1)"
	net_serve "$1"
}
follows() { # WHEN
	local address
	# shellcheck disable=SC2154 # come() sets them
	for address in "$db" "$db6"; do
		net_allowed web tcp "$address" 6379 "$1: web reaches db, $address"
		net_denied web tcp "$address" 80 "$1: web reaches no other port of $address"
		net_denied out tcp "$address" 6379 "$1: the outside does not reach $address"
	done
	# shellcheck disable=SC2154
	for address in "$web" "$web6"; do
		net_allowed out tcp "$address" 80 "$1: the outside reaches web, $address"
		net_denied db tcp "$address" 80 "$1: db does not reach web, $address"
	done
}

net_check "load" net_bulkhead load --state "$state" <(policy "" "")
net_check "ADD of db" come db
net_check "ADD of web" come web
net_check "load a snapshot with their addresses" net_bulkhead load --state "$state" \
	<(policy "node = worker-1
ip = $db, $db6" "node = worker-1
ip = $web, $web6")
follows "before"
was_db=$db was_web=$web

# Nothing is left of pods, attachments and maps; the folder of address leases was emptied, too.
net_bulkhead unload
for pod in db web; do
	ip -n "$NET-node" -o link show type veth | grep -o "veth[0-9a-f]*" | sort -u |
		while read -r link; do ip -n "$NET-node" link del "$link" 2>/dev/null; done
	ip netns del "$NET-$pod"
done
rm -rf "$CNI_STATE" "$CNI_DIR/ipam" "$CNI_DIR"/cache/*
too_early() {
	cni_pod web && cni_fails 11 cni_named shop/web ptp ADD web
}
net_check "ADD before the restore fails: try again" too_early
cni ptp DEL web
ip netns del "$NET-web"
rm -rf "$CNI_DIR/ipam"
net_check "load --restore" net_bulkhead load --restore --state "$state"
net_check "ADD of web, first after the restart" come web
net_check "web has the address that db had" net_is "$web" "$was_db"
net_check "ADD of db, second after the restart" come db
net_check "db has the address that web had" net_is "$db" "$was_web"
follows "after"
net_end
