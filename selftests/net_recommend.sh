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
net_check "load, audited only" net_bulkhead load --audit "$NET_TMP/policy.ini"

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
net_check "recommend watches" reads
net_allowed web tcp "$(net_ip db)" 6379 "audited, web reaches db"
net_allowed web udp "$(net_ip6 db)" 6379 "over IPv6 and UDP, too"
net_check "recommend takes what happened" wait $watching
net_check "into a policy for each of the two" \
	net_is "$(sed 's/ for .* flows;/;/' "$NET_TMP/seen.said")" \
	"2 policies; 0 are allowed already, 0 are left out"
net_check "load, enforced, with what was recommended" \
	net_bulkhead load "$NET_TMP/policy.ini" "$NET_TMP/seen.yaml"
net_allowed web tcp "$(net_ip db)" 6379 "web still reaches db"
net_allowed web tcp "$(net_ip6 db)" 6379 "over IPv6, which the policy does not tell apart"
net_allowed web udp "$(net_ip6 db)" 6379 "and by UDP"
net_denied web tcp "$(net_ip db)" 80 "but not another port"
net_denied web tcp "$(net_ip6 db)" 80 "over IPv6 neither"
net_denied db tcp "$(net_ip web)" 6379 "nor does db reach web"
net_end
