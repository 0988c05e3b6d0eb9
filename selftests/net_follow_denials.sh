#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# `follow --denials`: what policy denies is an Event on the pod, with the policy's name, a line of JSON and a metric by
# policy. `monitor --cluster` reads the lines of all followers through the API server. Events and lines are bounded.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

net_start db web far
api_start
events() { # PATTERN: how many Events have it
	api_events '[^"]*' | grep -cE -- "$1"
}
DENIED='follow_denied_packets_total{policy="shop/db",direction="ingress"}'
LOG=$NET_TMP/follow-worker-1.log
lines() { # PATTERN: how many lines of the follower's log have it
	grep -cE -- "^\{.*$1" "$LOG"
}
sends() { # FROM TO PORT TIMES
	local i
	for ((i = 0; i < $4; i++)); do net_datagram "$1" "$2" "$3"; done
}

for ns in shop away; do
	api POST /api/v1/namespaces '{"metadata": {"name": "'$ns'"}}' >/dev/null
done
api_pods worker-1 db web
API_PODS=/api/v1/namespaces/away/pods api_pod worker-1 far far "$(net_ip far)" "$(net_ip6 far)"
api POST $API_POLICIES '{"metadata": {"name": "db"}, "spec": {"podSelector": {"matchLabels": {"role": "db"}},
	"ingress": [{"ports": [{"port": 80, "protocol": "UDP"}]}]}}' >/dev/null
api POST $API_POLICIES '{"metadata": {"name": "web"}, "spec": {"podSelector": {"matchLabels": {"role": "web"}},
	"policyTypes": ["Egress"], "egress": [{"ports": [{"port": 80, "protocol": "UDP"}, {"port": 81, "protocol": "UDP"},
	{"port": 82, "protocol": "UDP"}]}]}}' >/dev/null
api_engine one
api_follower worker-1 --denials --listen 127.0.0.1:9464
net_check "the follower guards the pods" api_await api_guarded 3

sends web "$(net_ip db)" 81 3
net_check "an Event says what is denied at ingress, from whom, and by which policy" api_await eval \
	'[ "$(events "ingress from shop/web \($(net_ip db | sed "s/[0-9]*$//")[0-9]+\) to UDP/81: deny network-policy, isolated by shop/db")" = 1 ]'
net_check "the Event is about the pod, and a warning" net_is \
	"$(events '"type":"Warning","reason":"Denied".*"involvedObject":\{"apiVersion":"v1","kind":"Pod","name":"db","namespace":"shop","uid":"[0-9a-f-]*"\},"source":\{"component":"bulkhead-follower","host":"worker-1"\}')" 1
net_check "the log has a line of JSON with node and policy" net_is \
	"$(lines '"name":"shop/web".*"UDP/81".*"isolated_by":\["shop/db"\].*"node":"worker-1","count":[1-9]')" 1
net_check "a metric counts the policy's denials" api_await eval '[ "$(api_metric 9464 "$DENIED")" -ge 3 ]'

sends web "$(net_ip6 db)" 81 3
net_check "the metric counts the packets over IPv6, too" api_await eval '[ "$(api_metric 9464 "$DENIED")" -ge 6 ]'
net_check "packets of the same peer and port make no second Event" net_is "$(events 'UDP/81')" 1
net_check "packets of the same peer and port make no second line" net_is "$(lines 'UDP/81')" 1

sends web "$(net_ip far)" 99 1
net_check "an Event says what is denied at egress, and hides another namespace's names" api_await eval \
	'[ "$(events "egress to $(net_ip far) UDP/99: deny network-policy, isolated by shop/web")" = 1 ]'
sends far "$(net_ip db)" 82 1
net_check "an Event names no pod of another namespace" api_await eval \
	'[ "$(events "ingress from $(net_ip far) to UDP/82: deny")" = 1 ]'
net_check "the line has that pod's name" net_is "$(lines '"name":"away/far".*"UDP/82"')" 1
sends far "$(net_ip db)" 80 1
net_check "a packet that passes makes no Event" net_is "$(events UDP/80)" 0

# The cluster's denials, by the API server. A second follower is a log alone; a third cannot be read.
follower() { # NAME LOG
	api POST /api/v1/namespaces/bulkhead-system/pods '{"metadata": {"name": "'"$1"'", "labels": {"app": "bulkhead-follower"},
		"annotations": {"log": "'"$2"'"}}, "spec": {"nodeName": "'"$1"'"}, "status": {"phase": "Running"}}' >/dev/null
}
cluster() { # ARGUMENT...
	net_on node timeout 60 "$BULKHEAD" monitor --cluster --kubeconfig "$API_CONFIG" "$@"
}
OTHER=$NET_TMP/other.log
{
	echo '2026-01-31T12:00:00.123Z warning: a message'
	echo '{ no JSON'
	head -c 600000 /dev/zero | tr '\0' x
	echo
	sed -n 's/"node":"worker-1"/"node":"worker-2"/; /^{.*UDP\/81/p' "$LOG"
} >"$OTHER"
net_check "followers are pods" eval 'follower worker-1 "$LOG" && follower worker-2 "$OTHER"'
net_check "--since prints the denials of all nodes" net_is \
	"$(cluster --since 1h | grep -oE 'worker-[12].*UDP/(81|99)' | sed 's/ .*U/ U/' | sort | xargs)" "worker-1 UDP/81 worker-1 UDP/99 worker-2 UDP/81"
net_check "a line names the policy" net_ends 0 \
	'worker-1 drop shop/web .*-> shop/db .*UDP/81: denied by the destination.s policy; ingress: deny network-policy, isolated by shop/db' \
	cluster --since 1h --endpoint shop/db
net_check "-j prints the lines as they are" net_is "$(cluster --since 1h -j | sort)" "$(grep -h '^{"' "$LOG" "$OTHER" | sort)"
selects() { # NUMBER ARGUMENT...: so many lines pass the filter
	net_is "$(cluster --since 1h -j "${@:2}" | grep -c .)" "$1"
}
net_check "--namespace selects" selects 2 --namespace away
net_check "--to selects" selects 1 --to away/far
net_check "--from selects" selects 3 --from shop/web
net_check "--port selects" selects 2 --port UDP/81
net_check "--address selects" selects 2 --address "$(net_ip far)"
net_check "--verdict selects" selects 0 --verdict audit
net_check "--reason selects" selects 1 --reason egress
# A follower looks every two seconds, and reports what it finds in no order of time.
for port in 83 84 85; do
	sed -n "/^{.*UDP\/81/s/\<81\>/$port/gp" "$LOG"
done | sed '3s/"time":"2/"time":"1/' >"$NET_TMP/moment.log"
# A policy that is enforced denies, and one that is audited would.
sed -n '/^{.*UDP\/81/s/\<81\>/86/g; /UDP\/86/s/"isolated_by":\["shop\/db"\]/&,"audit":{"verdict":"deny","tier":"network-policy","policies":["shop\/other"]}/p' \
	"$LOG" >>"$NET_TMP/moment.log"
net_check "denials of one moment, and an older one behind them, are printed" eval \
	'follower worker-3 "$NET_TMP/moment.log" &&
	net_is "$(cluster --since 1h -j --port UDP/83 | wc -l) $(cluster --since 1h -j --port UDP/84 | wc -l) $(cluster --since 1h -j --port UDP/85 | wc -l)" "1 1 1"'
net_check "a drop names the policy that is enforced, not one that is audited" net_ends 0 \
	"UDP/86: .*; ingress: deny network-policy, isolated by shop/db\\(; [0-9]* packets\\)\\?$" cluster --since 1h --port UDP/86
api DELETE /api/v1/namespaces/bulkhead-system/pods/worker-3 >/dev/null
net_check "a log that cannot be read ends in a warning, and status 1" eval 'follower gone "$NET_TMP/none" &&
	net_ends 1 "gone: its log cannot be read" cluster --since 1h'
net_check "the others are printed all the same" net_is "$(cluster --since 1h -j 2>/dev/null | grep -c .)" 4
net_check "--cluster refuses --last" net_ends 2 "leave -o and --last" cluster --last 1
broken() { # the reader has met the fault
	grep -q "log cannot be read" "$NET_TMP/live.said"
}
cluster -j -c 3 2>"$NET_TMP/live.said" >"$NET_TMP/live" &
watching=$!
NET_SERVERS+=("$watching")
AGAIN="pods/worker-1/log?container=follower&follow=true&sinceSeconds=" # the reader asks for the first log again
net_check "--cluster follows the logs" api_await api_counts "log?container=follower&follow=true&tailLines=0" 2
sends web "$(net_ip far)" 97 1
net_check "a live denial is printed" api_await grep -q 'UDP/97.*"node":"worker-1"' "$NET_TMP/live"
net_check "an API server that fails ends the streams" eval 'api_fails 503 /log && api_await broken'
sends web "$(net_ip far)" 95 1
net_check "the follower has a line of what is denied meanwhile" api_await eval '[ "$(lines UDP/95)" = 1 ]'
net_check "the reader asks again and again" api_await api_counts "$AGAIN" $(($(api_count "$AGAIN") + 2))
net_check "the API server answers again" api_fails
net_check "a denial from before several attempts is printed" api_await grep -q UDP/95 "$NET_TMP/live"
sends web "$(net_ip far)" 96 1
net_check "a denial after the fault is printed, and -c ends" wait $watching
net_check "no denial is printed twice" net_is "$(grep -oE 'UDP/[0-9]+' "$NET_TMP/live" | xargs)" "UDP/97 UDP/95 UDP/96"
net_check "a reader without the right ends with the server's word" eval \
	'api_fails 403 /log && net_ends 3 "log cannot be read: refused" cluster && api_fails'

# A pod that scans: the pod's Events are bounded, and another pod's denial is still reported.
PROBED=0
scan() { # sends to one more port; the pod's denials are more than are reported
	net_datagram far "$(net_ip db)" $((2000 + PROBED++))
	unreported
}
unreported() {
	[ "$(api_metric 9464 follow_denied_packets_unreported_total)" -gt 0 ]
}
net_check "a scan ends in a metric" api_await scan
net_check "a scan makes some Events, and no flood" eval '[ "$(events UDP/20)" -gt 2 ] && [ "$(events "\"name\":\"db\"")" -le 16 ]'
sends web "$(net_ip far)" 98 1
net_check "another pod's denial is reported after the scan" api_await eval '[ "$(events UDP/98)" = 1 ]'

patched() { # an Event of db was written again
	api_counts /api/v1/namespaces/shop/events/db. 0
}
net_check "no Event is written again within ten minutes" eval '! patched'
before=$(events 'UDP/81')
api_end follow-worker-1 TERM
api_follower worker-1 --denials --listen 127.0.0.1:9464
again() { # a follower that began anew has reported the denial
	sends web "$(net_ip db)" 81 1
	patched
}
net_check "a follower that begins anew writes the Event again" api_await again
net_check "the follower makes no second Event" net_is "$(events 'UDP/81')" "$before"
net_end
