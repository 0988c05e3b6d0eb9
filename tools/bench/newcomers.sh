#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Three nodes with real maps beside a real API server. 100 Pods get their addresses at once, and send to a Pod of another
# node from their first moment on: how long after the API server tells of status.podIP that Pod's node lets them in.
#
# Usage: newcomers.sh BUILD-FOLDER      PODS=100 ROUNDS=7
# shellcheck source=tools/bench/three_nodes.sh
. "$(dirname "$0")/three_nodes.sh"
PODS=${PODS:-100} ROUNDS=${ROUNDS:-7}
PORT=7100
SERVER=https://192.168.7.10:6443

# Writes requests for curl, one a Pod. Their node has no follower.
requests() { # ROUND METHOD SUFFIX-OF-PATH [STATUS]
	local i body
	for ((i = 1; i <= PODS; i++)); do
		body='{"apiVersion":"v1","kind":"Pod","metadata":{"name":"late-'$1-$i'","namespace":"shop","labels":{"role":"late"}},'
		body+='"spec":{"nodeName":"worker-9","containers":[{"name":"main","image":"none"}]}'
		[ -z "${4:-}" ] || body+=',"status":{"phase":"Running","podIP":"10.249.'$1.$i'","podIPs":[{"ip":"10.249.'$1.$i'"}]}'
		printf 'next\nrequest = %s\nurl = "%s/api/v1/namespaces/shop/pods%s"\noutput = /dev/null\ncacert = "%s"\ndata = "%s"\n' \
			"$2" "$SERVER" "${3//POD/late-$1-$i}" "$KUBE_CA" "${body//\"/\\\"}}"
		printf 'header = "Content-Type: application/json"\nheader = "Authorization: Bearer secret-of-admin"\n'
	done | tail -n +2
}
send() { # ROUND METHOD SUFFIX [STATUS]
	requests "$@" >"$NET_TMP/requests"
	curl -s -Z --parallel-max 20 -K "$NET_TMP/requests" 2>/dev/null # its meter of progress
}
measure() { # ROUND
	local watch hears generations
	send "$1" POST ""
	ip -n "$NET-out" addr add "10.249.$1.0/16" dev lo
	rollout_await 60 rollout_is_settled 3 || die "the cluster does not settle"
	generations=$(changes_generation)
	curl -sN --cacert "$KUBE_CA" -H "Authorization: Bearer secret-of-admin" \
		"$SERVER/api/v1/namespaces/shop/pods?watch=1&labelSelector=role%3Dlate" >"$NET_TMP/stream" &
	watch=$!
	nsenter --net="/run/netns/$NET-db" "$NET_HELPERS/newcomers" hear $PORT "$PODS" <"$NET_TMP/stream" >"$NET_TMP/heard" &
	hears=$!
	nsenter --net="/run/netns/$NET-out" "$NET_HELPERS/newcomers" send "$(net_ip db)" $PORT "10.249.$1.1" "$PODS" &
	NET_SERVERS+=($!)
	sleep 1
	send "$1" PUT /POD/status status
	wait $hears || die "not all Pods are let in"
	kill $watch $!
	cut -d ' ' -f 2 "$NET_TMP/heard" >>"$NET_TMP/all"
	rollout_await 60 rollout_is_settled 3 || die "the cluster does not settle"
	echo $((($(changes_generation) - generations) * 1000)) >>"$NET_TMP/generations"
}

cluster_start >/dev/null
rollout_install >/dev/null || die "cannot install"
KUBE_CA=$(sed -n 's/.*certificate-authority: \([^}]*\)}.*/\1/p' "$KUBE_CONFIGS/admin")
mkfifo "$NET_TMP/stream"
cat <<-EOF2 | kubectl apply -f - >/dev/null || die "no policy"
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: db, namespace: shop},
 spec: {podSelector: {matchLabels: {role: db}}, ingress: [
  {from: [{podSelector: {matchLabels: {role: late}}}], ports: [{port: $PORT, protocol: UDP}]}]}}
EOF2
rollout_engine one
for node in $CLUSTER_NODES; do
	rollout_follower "$node"
done
rollout_settles &>/dev/null || die "the cluster does not begin"
changes_spend
for ((round = 1; round <= ROUNDS; round++)); do
	measure $round
done
echo "three real nodes, $PODS Pods at once, $ROUNDS rounds, ms: median, 99th, worst"
printf '  %-64s %s%s\n' "from status.podIP in the API until remote ingress lets a Pod in" "$(changes_spread all)" "   goal 30 at the median"
printf '  %-64s %s\n' "generations for them" "$(changes_spread generations)"
changes_spent $((ROUNDS * PODS)) "a Pod"
cluster_cleanup
