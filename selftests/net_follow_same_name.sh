#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A StatefulSet's pod that is deleted comes back by its name, and may get its addresses again, before the node's follower
# hears of the deletion: the late news takes the former pod off, and not the one that is there. By the UID it knows both.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"

net_start db
cni_start
api_start
cni_conf one "$(cni_ptp 10.50.0.0/24=10.50.0.9 fd50::/64=fd50::9)" "$(cni_own)"
call() { # COMMAND CONTAINER
	CONTAINER=$2 CNI_ARGS="K8S_POD_UID=$(uid cart-0)" cni_named shop/cart-0 one "$1" "$2"
}
uid() { # NAME
	api_get "$API_PODS/$1" metadata.uid
}
pod() { # NAME: without an address yet
	api POST $API_PODS '{"metadata": {"name": "'"$1"'", "labels": {"role": "'"$1"'"}}, "spec": {"nodeName": "worker-1"}}' >/dev/null
}
has_addresses() { # NAME IPV4 IPV6
	api PATCH "$API_PODS/$1" '{"status": {"phase": "Running", "podIP": "'"$2"'", "podIPs": [{"ip": "'"$2"'"}, {"ip": "'"$3"'"}]}}' >/dev/null
}
is_active() { # NAME: by both addresses
	net_bulkhead endpoint list >"$NET_TMP/list" 2>/dev/null
	[ "$(grep -c "^shop/$1[ :]" "$NET_TMP/list")" = 2 ]
}
is_off() { # NAME
	net_bulkhead endpoint list >"$NET_TMP/list" 2>/dev/null
	! grep -q "^shop/$1[ :]" "$NET_TMP/list"
}
known() { # NAME: by the follower
	test -e "$CNI_DIR/records/shop_$1.json"
}
unknown() {
	! known "$1"
}

net_check "a Node" eval "api POST /api/v1/nodes '{\"metadata\": {\"name\": \"worker-1\"}}' >/dev/null"
net_check "a policy" api_change
net_check "a pod" pod cart-0
net_check "another pod" pod last
api_engine one --node-limit 20
api_run follow-worker-1 follow -n worker-1 --uplink eth0 --pin "$NET_PIN" --records "$CNI_DIR/records"
net_check "a policy is active" api_await net_bulkhead show generation
net_check "the follower knows the pod" api_await known cart-0
net_check "the follower knows the other pod" api_await known last
cni_pod former
cni_pod next
net_check "ADD of the pod" call ADD former
net_check "the pod has its addresses" has_addresses cart-0 10.50.0.9 fd50::9
net_check "the pod is active" api_await is_active cart-0

former=$(uid cart-0)
api_holds "fieldSelector=spec.nodeName"
net_check "DEL of the pod" call DEL former
net_check "the pod is deleted" api DELETE $API_PODS/cart-0
net_check "another pod has its name" pod cart-0
latter=$(uid cart-0)
net_check "the pods have UIDs of their own" test -n "$former" -a -n "$latter" -a "$latter" != "$former"
net_check "ADD of the next pod, with the same addresses" call ADD next
net_check "the next pod is active" is_active cart-0
net_check "the other pod is deleted" api DELETE $API_PODS/last
api_holds ""
net_check "the follower hears of both deletions" api_await unknown last
net_check "the next pod is still active" is_active cart-0
net_check "the next pod has its addresses" has_addresses cart-0 10.50.0.9 fd50::9
guarded() {
	is_active cart-0 && net_bulkhead metrics | grep -qx "bulkhead_endpoints_unguarded 0"
}
net_check "the next pod is guarded" api_await guarded
net_check "DEL of the next pod" call DEL next
net_check "the next pod is deleted" api DELETE $API_PODS/cart-0
net_check "the next pod is not active any more" api_await is_off cart-0

# Without the plugin, an engine, and news of the first pod's deletion, as where a watch lists anew.
net_check "the engine ends" api_end engine-one TERM
net_check "a pod without the plugin" eval 'pod db && has_addresses db "$(net_ip db)" "$(net_ip6 db)"'
net_check "the pod without the plugin is active" api_await is_active db
LISTS=spec.nodeName%3Dworker-1
asked=$(api_count $LISTS)
api_fails 410 fieldSelector=spec.nodeName
net_check "the pod without the plugin is deleted" api DELETE $API_PODS/db
net_check "the next one has its name and addresses" eval 'pod db && has_addresses db "$(net_ip db)" "$(net_ip6 db)"'
net_check "the next one is another role's" eval 'api PATCH $API_PODS/db '\''{"metadata": {"labels": {"role": "other"}}}'\'' >/dev/null'
net_check "the follower's watch is cut off" api_await api_counts $LISTS $((asked + 2))
api_fails
other() {
	grep -qs '"role":"other"' -r "$CNI_DIR/records"
}
net_check "the follower lists the next one" api_await other
net_check "the next one is active" api_await is_active db
net_check "the next one is deleted" api DELETE $API_PODS/db
net_check "the next one is not active any more" api_await is_off db

# A pod that ends, and whose second address another pod has by now.
interface=$(ip -n "$NET-node" route get "$(net_ip db)" | sed -n 's/.* dev \([^ ]*\).*/\1/p')
ip -n "$NET-node" route add 10.244.0.77 dev "$interface"
net_check "a pod" eval 'pod db && has_addresses db "$(net_ip db)" "$(net_ip6 db)"'
net_check "the pod has both addresses" api_await is_active db
net_check "a pod that ends" eval 'pod ends && api PATCH $API_PODS/ends '\''{"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}'\'' >/dev/null'
net_check "the second address of the pod that ends is the other's" has_addresses ends 10.244.0.77 "$(net_ip6 db)"
net_check "the pod that ends changes once more" eval 'api PATCH $API_PODS/ends '\''{"metadata": {"labels": {"role": "ended"}}}'\'' >/dev/null'
ended() {
	grep -qs '"role":"ended"' -r "$CNI_DIR/records"
}
net_check "the follower hears of it" api_await ended
net_check "a further pod" pod last
net_check "the follower hears of the further pod" api_await known last
net_check "the other pod keeps both addresses" is_active db
net_check "the follower does not try to give one to the pod that ends" eval '! grep "is shop/db.s" "$NET_TMP/follow-worker-1.log"'

# A pod that gets the addresses of one that is ending, and is still active, with no further event of its own.
message() {
	api_get $API_NODE/worker-1 status.message
}
refuses() { # NAME
	grep -q "error: endpoint shop/$1: " "$NET_TMP/follow-worker-1.log"
}
pod_at() { # NAME IPV4 IPV6
	pod "$1" && has_addresses "$@"
}
ends() { # NAME
	api PATCH "$API_PODS/$1" '{"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}' >/dev/null
}
follows_ending() { # HOLDER NEXT
	net_check "$1 has addresses" pod_at "$1" 10.244.0.78 fd00:78::1
	net_check "$1 is active" api_await is_active "$1"
	net_check "$1 is ending" ends "$1"
	net_check "$2 has the addresses of $1" pod_at "$2" 10.244.0.78 fd00:78::1
	net_check "the follower refuses $2 while $1 is active" api_await refuses "$2"
	net_check "$2 is not active" is_off "$2"
}
is_ready() {
	[ "$(message)" = ok ]
}
ip -n "$NET-node" route add 10.244.0.78 dev "$interface"
ip -n "$NET-node" -6 route add fd00:78::1 dev "$interface"
net_check "ends and db are deleted" eval 'api DELETE $API_PODS/ends >/dev/null && api DELETE $API_PODS/db >/dev/null'
net_check "db is not active any more" api_await is_off db
follows_ending first second
net_check "first is deleted" api DELETE $API_PODS/first
net_check "second is active once first has gone" api_await is_active second
net_check "the node's status has no error any more" api_await is_ready
net_check "second is deleted" api DELETE $API_PODS/second
net_check "second is not active any more" api_await is_off second
follows_ending third fourth
net_check "third has ended" eval 'api PATCH $API_PODS/third '\''{"status": {"phase": "Succeeded"}}'\'' >/dev/null'
net_check "fourth is active once third has ended" api_await is_active fourth
net_end
