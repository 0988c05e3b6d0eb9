#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# From an audit to a policy: the pods' traffic without enforcement becomes NetworkPolicies; with these in
# force the same traffic passes and all other stops, over IPv4 and IPv6.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="80 6379"
net_start db web
cat >"$NET_TMP/policy.ini" <<EOF
$(net_head "uplink = eth0")
$(net_endpoint db "labels = app=db")
$(net_endpoint web "labels = app=web")
[network-policy shop/deny]
endpoints =
types = Ingress, Egress
EOF
net_check "load --audit" net_bulkhead load --audit "$NET_TMP/policy.ini"

nsenter --net="/run/netns/$NET-node" "$BULKHEAD" recommend --pin "$NET_PIN" --seconds 10 \
	"$NET_TMP/policy.ini" >"$NET_TMP/seen.yaml" 2>"$NET_TMP/seen.said" &
watching=$!
NET_SERVERS+=("$watching")
reads() {
	for _ in $(seq 100); do
		! net_bulkhead status -j | grep -q "\"readers\":\[${watching}\]" || return 0
		sleep 0.05
	done
	return 1
}
net_check "recommend starts" reads
net_allowed web tcp "$(net_ip db)" 6379 "audited, web reaches db"
net_allowed web udp "$(net_ip6 db)" 6379 "audited, web reaches db over IPv6 and UDP"
net_check "recommend ends" wait $watching
net_check "recommend prints a policy for each end" \
	net_is "$(sed 's/ for .* flows;/;/' "$NET_TMP/seen.said")" \
	"note: 2 policies; 0 are allowed already, 0 are left out"
net_check "load the recommended policies without --audit" \
	net_bulkhead load "$NET_TMP/policy.ini" "$NET_TMP/seen.yaml"
net_allowed web tcp "$(net_ip db)" 6379 "web still reaches db"
net_allowed web tcp "$(net_ip6 db)" 6379 "web still reaches db over IPv6"
net_allowed web udp "$(net_ip6 db)" 6379 "web still reaches db by UDP"
net_denied web tcp "$(net_ip db)" 80 "web does not reach another port"
net_denied web tcp "$(net_ip6 db)" 80 "web does not reach another port over IPv6"
net_denied db tcp "$(net_ip web)" 6379 "db does not reach web"
net_end
