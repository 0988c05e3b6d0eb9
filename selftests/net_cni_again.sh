#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Pods that the CNI plugin attached are under policy again once a policy is loaded after an unload, or after the
# pins were lost: also those whose addresses the policy does not know. A pod that has gone stays off.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"

net_start
cni_start
cat >"$NET_TMP/policy.ini" <<END
[bulkhead]
node = worker-1
[namespace shop]
[endpoint shop/db]
labels = role=db
[endpoint shop/gone]
labels = role=db
[network-policy shop/db]
endpoints = role=db
egress = to any ports TCP/80
END
cni_conf ptp "$(cni_ptp 10.50.0.0/24 fd50::/64)" "$(cni_own '"trust": ["args"]')"
load() { # [INPUT]
	net_bulkhead load --attached "$CNI_STATE" "${1:-$NET_TMP/policy.ini}"
}
refresh() {
	net_on node "$BULKHEAD" cni refresh --pin "$NET_PIN" --records "$CNI_DIR/records" --state "$CNI_STATE"
}
lists() { # PATTERN
	net_bulkhead endpoint list >"$NET_TMP/list"
	grep -qE "$1" "$NET_TMP/list" || { cat "$NET_TMP/list" && false; }
}
lists_not() { ! lists "$1" >/dev/null || { cat "$NET_TMP/list" && false; }; }
is_guarded() { # WHEN
	net_check "$1: both addresses of db are in its segment" net_is "$(net_bulkhead endpoint list | grep -cE '^shop/db +[^ ]+ +segment')" 2
	net_allowed db tcp 192.168.7.2 80 "$1: db sends what its policy allows"
	net_denied db tcp 192.168.7.2 443 "$1: db sends nothing else"
	net_denied late tcp 192.168.7.2 80 "$1: the pod that nobody names is isolated"
	net_allowed node tcp "$late" 80 "$1: the node reaches the pod that nobody names"
	net_check "$1: CHECK of db" cni ptp CHECK db
	net_check "$1: a load after that puts no pod active" eval '! load 2>&1 | grep "active again"'
}

for pod in db late said gone going; do
	cni_pod $pod
done
net_check "load" load
net_check "ADD of a pod that the policy names" cni_named shop/db ptp ADD db
net_check "ADD of a pod that nobody names" cni_named shop/late ptp ADD late
late=$(cni_address)
CNI_ARGS="BULKHEAD_LABELS=role:db"
net_check "ADD of a pod that the runtime names" cni_named shop/said ptp ADD said
unset CNI_ARGS
net_check "ADD of a pod that goes without a DEL" cni_named shop/gone ptp ADD gone
net_check "ADD of a pod whose DEL is killed" cni_named shop/going ptp ADD going
net_serve db late
is_guarded "at first"

net_check "unload" net_bulkhead unload
net_allowed db tcp 192.168.7.2 443 "nothing guards db after the unload"
ip netns del "$NET-gone"
sed -i 's/"identity"/"going":true,"identity"/' "$CNI_STATE/ptp:going:eth0"
# An older command wrote no MAC.
sed -i 's/"mac":"[^"]*",//' "$CNI_STATE/ptp:late:eth0"
net_check "a load after the unload puts three pods active again" eval 'load 2>&1 | grep "3 pods of the CNI plugin are active again"'
is_guarded "after unload and load"
net_check "the pod that the runtime named is isolated" lists '^shop/said +[^ ]+ +isolated'
net_check "the pod that is gone stays off" lists_not '^shop/gone '
net_check "the pod whose DEL was killed stays off" lists_not '^shop/going '
net_denied going tcp 192.168.7.2 80 "the pod whose DEL was killed reaches nothing"

# By hand.
status_says() { # PATTERN
	net_bulkhead status --check --attached "$CNI_STATE" >"$NET_TMP/said"
	grep -q "$1" "$NET_TMP/said" || { cat "$NET_TMP/said" && false; }
}
open='NOT GUARDED: interface veth[^ ]* of a pod that the CNI plugin attached'
net_check "status --check has nothing to say of attached pods" eval '! status_says "$open" >"$NET_TMP/list"'
net_check "endpoint del says that the interface of the pod is guarded no more" \
	net_ends 0 "endpoint shop/db is off, and its interface veth[^ ]* is guarded no more" net_bulkhead endpoint del shop/db
net_check "status --check names the interface" status_says "$open"
net_check "status --check names it once" net_is "$(grep -c "$open" "$NET_TMP/said")" 1
net_check "a load after endpoint del puts the pod active again" load
is_guarded "after endpoint del and load"

# The pins are lost: as if bpffs had been mounted anew.
rm -r "$NET_PIN"
net_check "a load without the pods' records" net_bulkhead load "$NET_TMP/policy.ini"
net_check "without the records no pod is active" net_is "$(net_bulkhead endpoint list)" ""
net_check "refresh puts the pods active again" eval 'refresh | grep "^3 pods are active again"'
is_guarded "after the pins were lost"
net_check "refresh once more puts no pod active" eval '! refresh | grep "again"'

# Behind a bridge no route leads to the pod's own interface. The policy knows the address by now.
cni_conf br "$(cni_bridge cni0 '"isGateway": true,' 10.51.0.0/24)" "$(cni_own)"
cni_pod port
net_check "unload before a bridged pod's ADD" net_bulkhead unload
net_check "load before a bridged pod's ADD" load
net_check "ADD of a bridged pod" cni_named shop/gone br ADD port
port=$(cni_address)
sed "s/^\[endpoint shop.gone\]/&\nnode = worker-1\nip = $port/" "$NET_TMP/policy.ini" >"$NET_TMP/port.ini"
net_check "load of a policy that knows the bridged pod's address" load "$NET_TMP/port.ini"
net_check "unload of that policy" net_bulkhead unload
net_check "a load without the pods' records does not know the bridged pod's interface" \
	net_ends 3 "its route leads to the bridge cni0: give its interface" net_bulkhead load "$NET_TMP/port.ini"
net_check "a load with the pods' records" load "$NET_TMP/port.ini"
net_check "the bridged pod is in its segment at its interface" lists "^shop/gone +$port +segment [0-9]+ +veth"
net_allowed port tcp 192.168.7.2 80 "the bridged pod sends what its policy allows"
net_denied port tcp 192.168.7.2 443 "the bridged pod sends nothing else"
net_check "CHECK of the bridged pod" cni br CHECK port
net_check "the bridged pod takes another MAC" eval 'ip -n "$NET-port" link set eth0 address 02:00:00:00:99:99 &&
	ip -n "$NET-node" neigh flush dev cni0'
net_denied port tcp 192.168.7.2 80 "the bridged pod sends nothing from a MAC that the plugin has not told"
net_check "DEL of the bridged pod" cni br DEL port

# Without --pin: the plugin's own folder. A mount namespace stands for the machine.
net_check "unload again" net_bulkhead unload
as_a_machine() {
	# shellcheck disable=SC2016
	net_on node unshare -m sh -c 'mount -t tmpfs none /run && mkdir /run/bulkhead && ln -s "$2" /run/bulkhead/cni &&
		mount -t bpf bpf /sys/fs/bpf && "$1" load --force --state "$3" "$4" && "$1" endpoint list && "$1" unload --state "$3"' \
		sh "$BULKHEAD" "$CNI_STATE" "$NET_TMP/kept" "$NET_TMP/policy.ini" >"$NET_TMP/list" 2>&1
}
net_check "a load without --pin" as_a_machine
net_check "that load puts the pods active by the plugin's own folder" grep -qE '^shop/db +[^ ]+ +segment' "$NET_TMP/list"
for pod in db late said going; do
	net_check "DEL of $pod" cni ptp DEL $pod
done
net_end
