#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A large policy whose change waits for its turn is told of: an Event says so once, since when and why, the condition
# ObjectsAccepted names it, and metrics count it; a policy behind it waits, and is told of, too. Once the changes were
# taken, all that ends.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

api_world
evil=${API_POLICIES/shop/evil}
policy() { # NAME LABEL: a policy of 120 KB, in a file
	echo '{"metadata": {"name": "'"$1"'"}, "spec": {"podSelector": {"matchLabels": {"role": "'"$2"'"}}, "ingress": ['"$(
		seq 10000 | sed 's/.*/{"from": []}/' | paste -sd,
	)"']}}' >"$NET_TMP/$1"
}
events() { # NAME: the Events that say that the policy waits
	api_events Waiting | grep -c '"name":"'"$1"'","namespace":"evil","uid"'
}

api_begin --listen 127.0.0.1:9465
policy large first
net_check "a policy of 120 KB" api POST $evil "@$NET_TMP/large"
net_check "an Event says that the policy is active" api_await api_said Active '"name":"large"'
net_check "no object waits" api_metric_is 9465 engine_objects_waiting 0
net_check "none has waited" net_is "$(api_metric 9465 engine_objects_waiting_seconds)" 0

# The server refuses the request that a turn makes, so that the change waits for as long as this test likes. The engine is
# stopped while the policy is written, so that it is told of both versions at once: the second one has to wait.
net_check "the server answers no turn" api_fails 500 "networkpolicies?fieldSelector"
kill -STOP "${API_PID[engine-one]}"
for label in second third; do
	policy large $label
	net_check "the policy is written with the label $label" api PUT $evil/large "@$NET_TMP/large"
done
net_check "a small policy of its namespace" api POST $evil '{"metadata": {"name": "small"}, "spec": {"podSelector": {}}}'
kill -CONT "${API_PID[engine-one]}"
net_check "metrics count both" api_await api_metric_is 9465 engine_objects_waiting 2
net_check "an Event says that the large policy waits, since when, and that its former version counts" api_await api_said Waiting \
	'its last change waits for its turn since 20[^ ]*Z, and until then the version before counts.*"kind":"NetworkPolicy","name":"large","namespace":"evil","uid"'
net_check "an Event says that the policy behind it waits" api_await api_said Waiting '"name":"small","namespace":"evil","uid"'
net_check "ObjectsAccepted is false" api_await api_accepted False Waiting
net_check "ObjectsAccepted names the one that waits longest, and since when" eval \
	'api_get $API_STATUS status.conditions.2.message | sed "s|\\\\/|/|g" | grep -q "^evil/large waits for its turn since 20[^ ]*Z; and 1 more: see their Events$"'
net_check "the longest wait is a metric" eval '[ "$(api_metric 9465 engine_objects_waiting_seconds | cut -d. -f1)" -ge 10 ]'
net_check "no Event is about the Namespace's other objects" eval '! api_said Waiting "\"kind\":\"Service\""'
requests=$(api_count events)
sleep 3
net_check "the large policy is told of once" net_is "$(events large)" 1
net_check "nothing more is written meanwhile" net_is "$(api_count events)" "$((requests + 1))"
net_check "the server answers again" api_fails
net_check "no object waits any more" api_await api_metric_is 9465 engine_objects_waiting 0
net_check "all objects are accepted" api_await api_accepted True AllObjects
net_check "an Event says that the small policy is active" api_await api_said Active '"name":"small"'
net_end
