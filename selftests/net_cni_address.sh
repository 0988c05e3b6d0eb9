#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A pod's address is used again while the policy still gives it to the former pod. The node goes by its own
# interfaces: no load gives the address back to the former pod. If a follower runs, the next pod rests until
# the follower says that other nodes know: neither a policy that expects the pod nor `cni refresh` names it.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"

net_start
# shellcheck source=selftests/lib/delta.sh
. "$(dirname "$0")/lib/delta.sh"
cni_start
addresses='{podIP: 10.50.0.9, podIPs: [{ip: 10.50.0.9}, {ip: "fd50::9"}]}'
pod() { # NAME ROLE [STATUS]
	echo "---"
	echo "{apiVersion: v1, kind: Pod, metadata: {name: $1, namespace: shop, uid: u-$1, labels: {role: $2}}, spec: {nodeName: worker-1}${3:+, status: $3}}"
}
policy() { # PORT [STATUS-OF-FORMER]
	pod former "${FORMER:-former}" "${2-$addresses}"
	pod next next
	pod third third
	cat <<-END
	---
	apiVersion: networking.k8s.io/v1
	kind: NetworkPolicy
	metadata: {name: former, namespace: shop}
	spec: {podSelector: {matchLabels: {role: former}}, ingress: [{ports: [{port: $1}]}]}
	---
	apiVersion: networking.k8s.io/v1
	kind: NetworkPolicy
	metadata: {name: next, namespace: shop}
	spec: {podSelector: {matchLabels: {role: next}}, ingress: [{ports: [{port: 80}]}]}
	END
}
cni_conf one "$(cni_ptp 10.50.0.0/24=10.50.0.9 fd50::/64=fd50::9)" "$(cni_own)"
call() { # NAME COMMAND
	CONTAINER=of-$1 CNI_ARGS="K8S_POD_UID=u-$1" cni_named "shop/$1" one "$2" pod
}
load() { # INPUT...
	net_bulkhead load -n worker-1 --uplink eth0 "$@"
}
load_pods() { # PORT [STATUS-OF-FORMER]
	policy "$@" >"$NET_TMP/policy.yaml"
	load "$NET_TMP/policy.yaml"
}
# Who has both addresses, and in which state: segment or isolated.
owner_is() { # NAME STATE
	net_bulkhead endpoint list >"$NET_TMP/list"
	[ "$(grep -c "^shop/$1  *\(10.50.0.9\|fd50::9\)  *$2" "$NET_TMP/list")" = 2 ] &&
		[ "$(wc -l <"$NET_TMP/list")" = 2 ] || { cat "$NET_TMP/list" && false; }
}
refresh() {
	net_on node "$BULKHEAD" cni refresh --pin "$NET_PIN" --records "$CNI_DIR/records" --state "$CNI_STATE"
}
notes() { # COUNT PATTERN: files in which the plugin has noted addresses
	cat "$CNI_DIR"/records/left/* >"$NET_TMP/notes" 2>/dev/null
	[ "$(grep -o "$2" "$NET_TMP/notes" | wc -l)" = "$1" ] || { cat "$NET_TMP/notes" && false; }
}

cni_pod pod
net_check "load of a policy that expects the pods" load_pods 443 ""
net_check "ADD of the former pod" call former ADD
net_check "the former pod has its addresses" owner_is former segment
net_check "load of a policy that has the former pod's addresses" load_pods 443
net_check "DEL of the former pod, which comes again" call former DEL
net_check "ADD of the former pod again" call former ADD
net_check "the former pod has its addresses again" owner_is former segment
net_check "status --check finds the entries of a pod as the policy has it" eval '! net_bulkhead status --check | grep ^endpoints'
net_check "DEL of the former pod" call former DEL

# No follower runs here.
net_check "ADD of the next pod" call next ADD
net_check "the next pod has the addresses" owner_is next segment
net_check "a load of a policy in which the former pod has them" load_pods 444
net_check "the next pod has the addresses after that load" owner_is next segment
by_delta() {
	policy 444 >"$here/one.yaml" && FORMER=third policy 444 | sed 's/u-former/u-other/' >"$here/two.yaml" &&
		compile -o "$here/one.bhp" "$here/one.yaml" &&
		compile --base "$here/one.bhp" -o "$here/two.bhp" "$here/two.yaml" &&
		compile --base "$here/one.bhp" --delta -o "$here/two.bhd" "$here/two.yaml" &&
		load "$here/one.bhp" && net_bulkhead load "$here/two.bhd" && test -e "$NET_PIN/blob_base"
}
net_check "a delta that changes the former pod" by_delta
net_check "the next pod has the addresses after that delta" owner_is next segment
net_check "a load of the whole policy has nothing to change" whole_changes_nothing two
net_check "DEL of the next pod" call next DEL

mkdir "$CNI_DIR/records/left"
net_check "ADD of the next pod where a follower runs" call next ADD
net_check "the next pod rests: the policy gives its addresses to another" owner_is next isolated
net_check "both addresses are noted" notes 2 '"name":"former","uid":"","rests":true'
net_check "a load of another policy" load_pods 445
net_check "the next pod rests after that load" owner_is next isolated
net_check "refresh" refresh
net_check "the next pod rests after refresh" owner_is next isolated
sed -i 's/"rests":true/"rests":false/' "$CNI_DIR"/records/left/*
net_check "refresh once the addresses rest no longer" refresh
net_check "the next pod is named" owner_is next segment
net_check "DEL of the next pod by its UID" call next DEL
net_check "DEL notes both addresses" notes 2 '"name":"next","uid":"u-next","rests":true'

net_check "ADD of the next pod again" call next ADD
net_check "the note of the next pod is gone" notes 0 '"name":"next"'
net_check "DEL of the next pod again" call next DEL
sed -i 's/"rests":true/"rests":false/' "$CNI_DIR"/records/left/10.50.0.9_- "$CNI_DIR"/records/left/fd50::9_-
net_check "ADD of a third pod" call third ADD
net_check "the third pod rests" owner_is third isolated
net_check "DEL of the third pod" call third DEL

# A damaged note: only its name tells which address has left which pod.
rm -f "$CNI_DIR"/records/left/*
note=$CNI_DIR/records/left/10.50.0.9_u-gone
echo '{"address": ' >"$note"
names() { # FILE COMMAND...: the command says that the file is damaged
	: >"$NET_TMP/cni.err"
	"${@:2}" 2>"$NET_TMP/said"
	grep -q "$1 is damaged" "$NET_TMP/said" "$NET_TMP/cni.err"
}
net_check "a load of a policy that expects the pods again" load_pods 446 ""
net_check "ADD of the next pod names the damaged note" names "$note" call next ADD
net_check "the next pod rests beside the damaged note" owner_is next isolated
net_check "refresh names the damaged note" names "$note" refresh
net_check "the next pod rests after that refresh" owner_is next isolated
rm "$note"
echo '{"network": ' >"$CNI_STATE/one:of-nobody:pod"
net_check "refresh names a damaged record" names "$CNI_STATE/one:of-nobody:pod" refresh
net_check "the next pod is named once the note is removed" owner_is next segment
net_check "DEL of the named pod" call next DEL

# The former owner is a pod that the plugin has not attached, nor has any policy it.
rm -r "$CNI_DIR/records/left"
cni_conf plain "$(cni_ptp 10.50.0.0/24=10.50.0.9 fd50::/64=fd50::9)"
cni_conf other "$(cni_ptp 10.51.0.0/24=10.51.0.9 fd51::/64=fd51::9)" "$(cni_own)"
cni_pod peer
says() { # there|back arrived|lost: over the former owner's connection to the peer
	local said wait=$NET_WAIT_ALLOWED
	[ "$2" = arrived ] || wait=$NET_WAIT_DENIED
	echo "$1 $wait" >&"$ask"
	read -r -t 60 -u "$hear" said
	net_is "$said" "$2"
}
CONTAINER=of-third CNI_ARGS="K8S_POD_UID=u-third" net_check "ADD of a peer" cni_named shop/third other ADD peer
for family in 4 6; do
	[ $family = 4 ] && peer=10.51.0.9 || peer=fd51::9
	net_check "IPv$family: ADD of a pod without the plugin" cni plain ADD pod
	mkfifo "$NET_TMP/ask$family" "$NET_TMP/hear$family"
	"$NET_HELPERS/pair" "/run/netns/$NET-pod" "/run/netns/$NET-peer" talk $peer 7009 udp \
		<>"$NET_TMP/ask$family" >"$NET_TMP/hear$family" 2>&1 &
	NET_SERVERS+=($!)
	exec {hear}<"$NET_TMP/hear$family" {ask}>"$NET_TMP/ask$family"
	read -r -t 60 -u "$hear" said
	net_check "IPv$family: that pod calls the peer" net_is "$said" ready
	net_check "IPv$family: the peer answers" says back arrived
	net_check "IPv$family: DEL of that pod" cni plain DEL pod
	net_check "IPv$family: ADD of the next pod" call next ADD
	net_check "IPv$family: the peer does not reach the next pod by the former one's connection" says back lost
	net_check "IPv$family: the next pod calls the peer" says there arrived
	net_check "IPv$family: the peer answers the next pod" says back arrived
	net_check "IPv$family: DEL of the next pod" call next DEL
done
net_end
