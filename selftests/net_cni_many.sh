#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Many pods start at once: each is guarded and has its name. Some of them send from before they are
# attached on, and no packet that policy denies arrives. All pods are deleted at once.
#
#   PODS=30
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"

PODS=${PODS:-${BULKHEAD_SMALL:+8}}
PODS=${PODS:-$([ -n "${BULKHEAD_FULL:-}" ] && echo 110 || echo 30)}
SENDERS=4 # pods that send
net_start
cni_start
{
	printf '[bulkhead]\nnode = worker-1\n'
	for ((i = 0; i < PODS; i++)); do
		printf '[endpoint shop/p%d]\nlabels = role=db\n' $i
	done
	printf '[network-policy shop/db]\nendpoints = role=db\ntypes = Ingress, Egress\n'
	printf 'ingress = from cidr(192.168.7.0/24) ports UDP/7001\n'
	printf 'egress = to cidr(192.168.7.0/24) ports UDP/7001\n'
} >"$NET_TMP/policy.ini"
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
cni_conf ptp "$(cni_ptp 10.50.0.0/22 fd50::/64)" "$(cni_own "\"log\": \"$NET_TMP/log\"")"

all() { # COMMAND
	local i pids=()
	for ((i = 0; i < PODS; i++)); do
		# Debian's own plugins sometimes fail when many run at once; a runtime tries again.
		(cni_on "$1" "p$i" || { cni_on DEL "p$i" && cni_on "$1" "p$i"; } || echo "p$i: $(cat "$NET_TMP/p$i.out" "$NET_TMP/p$i.err")" >>"$NET_TMP/failed") &
		pids+=($!)
	done
	wait "${pids[@]}"
}
# The output of each pod's call goes to a file of its own.
cni_on() { # COMMAND POD
	CNI_PATH=$CNI_DIR/bin:$CNI_BIN RUNTIME_CACHE=$CNI_DIR/cache \
		CNI_ARGS="IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=$2" \
		net_on node "$NET_HELPERS/runtime" "$CNI_DIR/net.d/ptp.conflist" "$1" "$2" \
		"/run/netns/$NET-$2" eth0 >"$NET_TMP/$2.out" 2>"$NET_TMP/$2.err"
}
names() { net_bulkhead endpoint list | grep -c "$1"; }

callers=()
for ((i = 0; i < PODS; i++)); do
	cni_pod "p$i"
	[ $i -lt $SENDERS ] || continue
	nsenter --net="/run/netns/$NET-p$i" "$NET_HELPERS/first" 600000 7001 5979 192.168.7.2 fd07::2 \
		>"$NET_TMP/p$i.heard" &
	callers+=($!)
done
# Between the plugins ptp and bulkhead-cni the new interface carries packets unguarded, so the count of
# packets starts after all ADD calls.
all ADD
nsenter --net="/run/netns/$NET-out" "$NET_HELPERS/first" 1500 7001 5979 192.168.7.1 >"$NET_TMP/heard"
touch "$NET_TMP/failed"
net_check "$PODS ADDs at once succeed" net_is "$(cat "$NET_TMP/failed")" ""
net_check "each pod has its name and a segment at both addresses" net_is "$(names ' segment ')" $((2 * PODS))
net_check "all pods are guarded" net_is "$(net_bulkhead status -v | grep -c 'veth.* endpoint, tc ingress .*, egress')" "$PODS"
net_check "allowed packets of the pods arrive outside" test "$(sed -n 's/.* allowed \([0-9]*\).*/\1/p' "$NET_TMP/heard")" -ge $SENDERS
net_check "no denied packet of the pods arrives outside" net_is "$(sed -n 's/.* denied \([0-9]*\).*/\1/p' "$NET_TMP/heard")" 0
all CHECK
net_check "CHECK of all pods succeeds" net_is "$(cat "$NET_TMP/failed")" ""
nsenter --net="/run/netns/$NET-out" "$NET_HELPERS/first" 3600000 7001 5979 192.168.7.1 >"$NET_TMP/heard" &
listener=$!
all DEL
net_check "$PODS DELs at once succeed" net_is "$(cat "$NET_TMP/failed")" ""
kill "${callers[@]}" $listener
wait "${callers[@]}" $listener
net_check "no denied packet arrives outside during the DELs" \
	net_is "$(sed -n 's/.* denied \([0-9]*\).*/\1/p' "$NET_TMP/heard")" 0
net_check "no endpoint and no record is left" net_is "$(net_bulkhead endpoint list)$(ls "$CNI_STATE")" ""
net_bulkhead metrics --cni-state "$CNI_STATE" >"$NET_TMP/metrics"
net_check "metrics count the ADDs" grep -qx "bulkhead_cni_calls_total{command=\"add\",result=\"done\"} $PODS" "$NET_TMP/metrics"
net_check "metrics count no failed ADD" grep -qx 'bulkhead_cni_calls_total{command="add",result="failed"} 0' "$NET_TMP/metrics"
net_check "metrics count no attached pod" grep -qx 'bulkhead_cni_attached{identity="policy"} 0' "$NET_TMP/metrics"
net_check "the log has a line for each ADD" net_is "$(grep -c ' ADD ptp p.*identity=policy' "$NET_TMP/log")" "$PODS"
net_end
