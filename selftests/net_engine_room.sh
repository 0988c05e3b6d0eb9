#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The objects of a namespace have room in the engine's memory. A policy and a Service that find none are refused, with
# an Event; they are asked for again, and count, when other objects of the namespace are gone, and not before. A large
# policy that is written again and again is read in its turns, and its last version counts.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

api_world
evil=${API_POLICIES/shop/evil}
services=/api/v1/namespaces/evil/services
rules() { # COUNT: rules that allow all
	seq "$1" | sed 's/.*/{"from": []}/' | paste -sd,
}
policy() { # NAME COUNT: writes it to a file
	echo '{"metadata": {"name": "'"$1"'"}, "spec": {"podSelector": {}, "ingress": ['"$(rules "$2")"']}}' >"$NET_TMP/$1"
}
service() { # NAME COUNT: of labels of its selector
	echo '{"metadata": {"name": "'"$1"'"}, "spec": {"clusterIP": "10.96.0.9", "ports": [{"port": 80}], "selector": {'"$(
		seq "$2" | sed 's/.*/"l&": "'"$(printf '%060d' 0)"'"/' | paste -sd,
	)"'}}}' >"$NET_TMP/$1"
}

api_begin --listen 127.0.0.1:9465
for ((i = 1; i <= 12; i++)); do # nine of them fill the namespace
	policy "p$i" 50000
	api POST $evil "@$NET_TMP/p$i" >/dev/null
done
net_check "an Event says that the last of the large policies found no room" \
	api_await api_said Refused "NetworkPolicy evil.*/p12: it takes .*the limit of a namespace is 65536 KiB"
service large 40000
net_check "a Service with a large selector" api POST $services "@$NET_TMP/large"
net_check "an Event says that the Service found no room" api_await api_said Refused "Service evil.*/large: it takes"
policy small 3
net_check "a small policy finds room" api POST $evil "@$NET_TMP/small"
net_check "an Event says that the small policy is active" api_await api_said Active '"name":"small"'
refused=$(api_metric 9465 engine_objects_refused)
sleep 2
net_check "$refused objects stay refused while there is no room" api_metric_is 9465 engine_objects_refused "$refused"
for ((i = 1; i <= 8; i++)); do
	api DELETE "$evil/p$i" >/dev/null
done
net_check "the other large objects find room without being written again" api_await api_metric_is 9465 engine_objects_refused 0
net_check "an Event says that the last of the large policies counts" api_await api_said Accepted '"name":"p12"'
net_check "an Event says that the Service counts" api_await api_said Accepted '"name":"large"'

version() { # NAME MATCH-LABELS: of a large policy
	sed "s/\"podSelector\": {}/\"podSelector\": {\"matchLabels\": {$2}}/" "$NET_TMP/$1" >"$NET_TMP/version"
	api PUT "$evil/$1" "@$NET_TMP/version" >/dev/null
}
versions() { # NAME COUNT
	local i
	for ((i = 0; i < $2; i++)); do
		version "$1" "\"version\": \"$i\"" || return
	done
}
has_waited() {
	[ "$(api_metric 9465 api_waited_total)" -gt "$waited" ]
}
# The engine is stopped meanwhile, so that it is told of all versions at once, however slow this machine is.
policy often 10000
net_check "a policy of 120 KB" api POST $evil "@$NET_TMP/often"
waited=$(api_metric 9465 api_waited_total)
kill -STOP "${API_PID[engine-one]}"
net_check "the policy of 120 KB is written five times in a moment" versions often 5
kill -CONT "${API_PID[engine-one]}"
net_check "some versions waited for their turn" api_await has_waited
net_check "a large policy is written thirty times" versions p12 30
net_check "the large policy is written once more, with a label that is refused" version p12 '"the last": ""'
net_check "the last version counts" api_await api_said Refused 'p12.*the last'
net_end
