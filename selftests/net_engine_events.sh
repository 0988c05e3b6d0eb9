#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# An Event of a policy says what Bulkhead did with the policy: at which generation it is active, or why it is
# refused. A policy has one Event for each, however often it changes, and many policies at once do not flood the API
# server.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

api_world
events() { # REASON: how many there are about policies
	api_events "$1" | grep -c '"kind":"NetworkPolicy"'
}
requests() { # PATH: curl's requests, of bodies on standard input
	sed 's/"/\\"/g; s|.*|next\nrequest = POST\nurl = "http://127.0.0.1:'"$API_PORT$1"'"\ndata = "&"\noutput = /dev/null|' | tail -n +2
}
policy() { # NAME CIDR
	echo '{"metadata": {"name": "'"$1"'"}, "spec": {"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": "'"$2"'"}}]}]}}'
}

status_says() { # TEXT: a message of PolicyStatus
	api_get $API_STATUS status.conditions | sed 's|\\/|/|g' | grep -q -- "$1"
}

net_check "a policy that is there before any engine" api POST $API_POLICIES "$(policy old 10.9.0.0/16)"
api_begin
net_check "a policy that was there before the engine has no Event" net_is "$(events Active)" 0
api_change
net_check "an Event says that a new policy is active" api_await api_said Active "active at generation [0-9]* on 1 nodes"
net_check "the Event is about the policy" api_said Active '"involvedObject":{"apiVersion":"networking.k8s.io.*","kind":"NetworkPolicy","name":"db","namespace":"shop","uid"'
first=$(api_generation)
for i in 1 2 3; do
	net_check "change $i is rolled out" api_rolls
done
net_check "the Event has the newest generation" api_await eval 'api_said Active "generation $(api_wanted | cut -d " " -f 2) on"'
net_check "the generation is a newer one" api_rolled_out "$first"
net_check "the policy still has one Event" net_is "$(events Active)" 1

net_check "a policy that Bulkhead refuses" api POST $API_POLICIES "$(policy bad 10.0.0.0/99)"
net_check "an Event says why" api_await api_said Refused "cidr"
net_check "PolicyStatus names the refused policy, and why" api_await status_says \
	'"NetworkPolicy shop/bad is refused: [^{]*ipBlock.cidr: [^{]* is no CIDR such as 10.0.0.0/8 or fd00::/8"'
net_check "the refused policy is not called active" net_is "$(events Active)" 1
net_check "the refused policy changes" api PUT $API_POLICIES/bad "$(policy bad 10.0.0.0/98)"
net_check "the Event says why again" api_await api_said Refused "/98"
net_check "the refused policy has one Event" net_is "$(events Refused)" 1
net_check "the refused policy is corrected" api PUT $API_POLICIES/bad "$(policy bad 10.0.0.0/8)"
net_check "an Event says that it is accepted" api_await api_said Accepted accepted
net_check "an Event says that the corrected policy is active" api_await eval '[ "$(events Active)" = 2 ]'

# 5000 rules, each from an address of its own, need more segments of addresses than a policy may.
from=$(for i in $(seq 0 4999); do printf '{"from": [{"ipBlock": {"cidr": "20.0.%d.%d/32"}}]},' $((i >> 8)) $((i & 255)); done)
echo '{"metadata": {"name": "big"}, "spec": {"podSelector": {}, "ingress": ['"${from%,}"']}}' >"$NET_TMP/big"
before=$(api_generation)
net_check "a policy over its budget" api POST $API_POLICIES "@$NET_TMP/big"
net_check "an Event says that the policy is set aside" api_await api_said SetAside "the limit is 4096"
net_check "each line of the engine's log has time and level, and one about a policy names it" \
	api_logged engine-one warning 'engine: an object is set aside: NetworkPolicy shop/big: '
net_check "the cluster has the policy" api_await api_rolled_out "$before"
aside='"NetworkPolicy shop/big is set aside, and isolates what it selects: it needs [0-9]* segments of addresses or more, the limit is 4096'
net_check "PolicyStatus names the policy, the figure and the limit" api_await status_says "$aside\""
net_check "a further policy is rolled out" api_rolls api POST $API_POLICIES "$(policy further 10.8.0.0/16)"
net_check "an Event says that the further policy is active" api_await eval '[ "$(events Active)" = 3 ]'
net_check "the policy over its budget is not called active" eval '! api_said Active "\"name\":\"big\""'

# 1000 ports at 70 addresses, and its cluster IP
ports=$(seq 1000 1999 | sed 's/.*/{"name": "p&", "port": &}/' | paste -sd,)
echo '{"metadata": {"name": "broad"}, "spec": {"clusterIP": "10.96.0.9", "ports": ['"$ports"'],
	"externalIPs": ['"$(seq -s , -f '"198.51.100.%g"' 70)"']}}' >"$NET_TMP/broad"
net_check "a Service over its budget" api POST /api/v1/namespaces/shop/services "@$NET_TMP/broad"
net_check "an Event says that the Service is set aside, the figure and the limit" api_await api_said SetAside \
	'"set aside, and its addresses have no backends: it needs 72000 addresses and ports, the limit is 65536".*"kind":"Service","name":"broad"'
net_check "PolicyStatus names one and counts the other" api_await status_says \
	'"[^{]* is set aside, and [^{]*, the limit is [0-9]*; and 1 more: see their Events"'
net_check "a Service within its budget" api POST /api/v1/namespaces/shop/services \
	'{"metadata": {"name": "narrow"}, "spec": {"clusterIP": "10.96.0.8", "ports": [{"port": 80}]}}'

# 2100 Pods number one port name each in its own way.
net_check "a Namespace" api POST /api/v1/namespaces '{"metadata": {"name": "crowd"}}'
seq 2100 | awk '{ printf "{\"metadata\": {\"name\": \"p%d\"}, \"spec\": {\"nodeName\": \"worker-1\", \"containers\": [{\"name\": \"main\", \"ports\": [{\"name\": \"http\", \"containerPort\": %d}]}]}, \"status\": {\"phase\": \"Running\", \"podIP\": \"10.77.%d.%d\"}}\n", $1, $1, $1 / 250, $1 % 250 + 1 }' |
	requests /api/v1/namespaces/crowd/pods >"$NET_TMP/crowd"
net_check "2100 Pods of the Namespace" net_on node curl -s -f -Z -K "$NET_TMP/crowd"
net_check "a policy that names the Pods' port" api POST /apis/networking.k8s.io/v1/namespaces/crowd/networkpolicies \
	'{"metadata": {"name": "http"}, "spec": {"podSelector": {}, "ingress": [{"ports": [{"port": "http"}]}]}}'
net_check "an Event says that the Namespace is over its budget, the figure and the limit" api_await api_said SetAside \
	'"set aside, and its pods have no named ports: its namespace needs 2049 variations of port names in one segment or more, the limit of one is 2048".*"kind":"Namespace","name":"crowd"'
net_check "no Event is about the Service within its budget" eval '! api_said "[^\"]*" "\"kind\":\"Service\",\"name\":\"narrow\""'

before=$(api_generation)
for i in $(seq 200); do
	policy "many-$i" "10.$i.0.0/16"
done | requests $API_POLICIES >"$NET_TMP/many"
net_check "200 policies at once" net_on node curl -s -f -Z -K "$NET_TMP/many"
net_check "200 policies are rolled out" api_await api_rolled_out "$before"
sleep 2
net_check "the cluster has all the policies" net_is "$(api GET $API_POLICIES | grep -o '"many-[0-9]*"' | wc -l)" 200
active=$(events Active)
echo "# $active Events"
net_check "the 200 policies made some Events, and no flood" eval '[ "$active" -gt 10 ] && [ "$active" -lt 100 ]'
net_end
