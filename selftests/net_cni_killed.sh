#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# An ADD or a DEL of the CNI plugin that is killed at any system call that changes state leaves the pod under
# its policy or closed, whatever command comes next; an ADD from when it has guarded the interface on. The next
# DEL removes the pod, and the next pod of its addresses inherits nothing. CRASH=all kills at every system call.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"

CRASH=${CRASH:-state} STEP=1 SAMPLE=4
[ -z "${BULKHEAD_SMALL:-}" ] || SAMPLE=3
net_start
cni_start
# The former pod may hear and call UDP/443, the next one UDP/80, and no pod UDP/5978.
cat >"$NET_TMP/policy.ini" <<EOF
[bulkhead]
node = worker-1
[namespace shop]
[endpoint shop/former]
labels = role=former
[endpoint shop/next]
labels = role=next
[network-policy shop/former]
endpoints = role=former
ingress = from any ports UDP/443
egress = to any ports UDP/443
[network-policy shop/next]
endpoints = role=next
ingress = from any ports UDP/80
egress = to any ports UDP/80
EOF
# The network has one address of each IP version, so that each pod gets the former one's.
cni_conf one "$(cni_ptp 10.50.0.0/24=10.50.0.9 fd50::/64=fd50::9)" "$(cni_own)"
cni_conf two "$(cni_ptp 10.52.0.0/24)" "$(cni_own)"
PORTS="80 443 5978"

pod() { # NAME COMMAND
	CONTAINER=of-$1 cni_named "shop/$1" one "$2" pod
}
plugin_killed() { # COMMAND state|all N [MEMBERS]
	cni_own "\"cniVersion\": \"1.0.0\", \"name\": \"one\"${4:+, $4}" |
		CNI_COMMAND=$1 CNI_CONTAINERID=of-former CNI_IFNAME=eth0 CNI_NETNS=/run/netns/$NET-pod \
			CNI_ARGS="IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=former" \
			net_on node "$NET_HELPERS/fault" "$NET_TMP/calls" "$2" "$3" "${FAULT:-kill}" \
			"$CNI_DIR/bin/bulkhead-cni" >"$NET_TMP/fault" 2>&1
}
del_killed() { # state|all N
	plugin_killed DEL "$@"
}
add_killed() { # state|all N
	RUNTIME_ONLY=ptp pod former ADD &&
		plugin_killed ADD "$@" "\"prevResult\": $(cat "$CNI_DIR/cache/one-of-former-eth0")"
}

# Prints which ports answer to a caller, both ways, over IPv4 and IPv6.
look() { # WAIT
	local asked=()
	# shellcheck disable=SC2086
	{
		net_on out "$NET_PROBE" which "$1" 10.50.0.9 $PORTS >"$NET_TMP/1" & asked+=($!)
		net_on out "$NET_PROBE" which "$1" fd50::9 $PORTS >"$NET_TMP/2" & asked+=($!)
		net_on pod "$NET_PROBE" which "$1" "$(net_ip out)" $PORTS >"$NET_TMP/3" & asked+=($!)
		net_on pod "$NET_PROBE" which "$1" "$(net_ip6 out)" $PORTS >"$NET_TMP/4" & asked+=($!)
	}
	wait "${asked[@]}"
	paste -d / "$NET_TMP"/[1-4] | tr ' ' +
}
# A second look gives a slow machine more time.
is_one_of() { # STATE...
	local wait seen
	for wait in $NET_WAIT_DENIED $NET_WAIT_ALLOWED; do
		seen=$(look "$wait")
		[[ " $* " != *" $seen "* ]] || { echo "$seen" >>"$NET_TMP/states" && return; }
	done
	echo "it is $seen, not $*" && false
}
FORMER=443/443/443/443 NEXT=80/80/80/80 CLOSED=/// ALL=80+443+5978
OPEN=$ALL/$ALL/$ALL/$ALL

is_gone() {
	net_is "$(net_bulkhead endpoint list)$(ls "$CNI_STATE")" ""
}
next_inherits_nothing() {
	pod next ADD && is_one_of $NEXT && pod next DEL && is_gone
}
# Kills the DEL of a pod, then adds the next pod at its addresses.
del_killed_at() { # N
	pod former ADD && is_one_of $FORMER || return
	del_killed "$CRASH" "$1"
	[ $? -eq 99 ] || { echo "not killed" && cat "$NET_TMP/fault" && return 1; }
	is_one_of $FORMER $CLOSED || return
	# any other command clears up
	net_fails 2 net_bulkhead endpoint del shop/nobody && is_one_of $FORMER $CLOSED &&
		pod former DEL && is_gone && next_inherits_nothing
}
# The second interface of a pod whose first one's ADD was killed has a name of that pod's own.
second_interface() {
	local names
	CONTAINER=of-former cni_named shop/former two ADD pod eth1 || return
	names=$(net_bulkhead endpoint list | awk '$2 ~ /^10\.52\./ { print $1 }')
	[[ $names = shop/former || $names = shop/former:eth1 ]] || { echo "the second interface is $names" && return 1; }
	CONTAINER=of-former cni two DEL pod eth1
}
# Kills the ADD of a pod. Before the plugin guards the interface, the pod may be open, since none of its
# processes runs yet; from then on it may not.
add_killed_at() { # N
	local opens=
	[ -n "$guarded" ] || opens=$OPEN
	add_killed "$CRASH" "$1"
	case $? in
	99) is_one_of $FORMER $CLOSED $opens || return ;;
	0) [ "$(wc -l <"$NET_TMP/calls")" -lt "$1" ] && is_one_of $FORMER || return ;; # it had fewer calls
	*) echo "not killed" && cat "$NET_TMP/fault" && return 1 ;;
	esac
	[ "$(tail -n 1 "$NET_TMP/states")" = $OPEN ] || guarded=1
	net_fails 2 net_bulkhead endpoint del shop/nobody && is_one_of $FORMER $CLOSED $opens &&
		second_interface && pod former DEL && is_gone && next_inherits_nothing
}
# Makes a call of a pod's ADD fail: ADD succeeds all the same, or leaves no endpoint. From when the plugin guards
# the interface on, the pod is closed then.
add_fails_at() { # N
	local opens=
	[ -n "$guarded" ] || opens=$OPEN
	if FAULT=5 add_killed state "$1"; then
		is_one_of $FORMER || return
	else
		is_gone && is_one_of $CLOSED $opens || return
		failed=$((failed + 1))
	fi
	[ "$(tail -n 1 "$NET_TMP/states")" = $OPEN ] || guarded=1
	pod former DEL && is_gone && next_inherits_nothing
}
walk() { # ONE
	local at n
	mapfile -t at < <(net_places $STEP $SAMPLE)
	: >"$NET_TMP/states"
	for n in "${at[@]}"; do
		"$1" "$n" || { echo "at $n: $(tail -n 1 "$NET_TMP/calls")" && return 1; }
	done
	echo "killed at ${at[*]}" >"$NET_TMP/places"
	[ ${#at[@]} -gt 2 ]
}
walk_del() {
	pod former ADD && del_killed "$CRASH" 0 && is_one_of $CLOSED && pod former DEL && is_gone &&
		walk del_killed_at
}
walk_add() {
	guarded=
	add_killed "$CRASH" 0 && is_one_of $FORMER && pod former DEL && is_gone && walk add_killed_at
}
walk_add_errors() {
	failed=0 guarded=
	add_killed state 0 && cp "$NET_TMP/calls" "$NET_TMP/add" && pod former DEL && walk add_fails_at && [ $failed -gt 2 ]
}

net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
cni_pod pod
net_serve pod
net_check "a DEL killed anywhere leaves the pod guarded, the next DEL removes it, and its addresses' next owner inherits nothing" walk_del
echo "# $(cat "$NET_TMP/places")"
net_check "kills left the pod under its policy" grep -qx $FORMER "$NET_TMP/states"
net_check "kills left the pod closed" grep -qx $CLOSED "$NET_TMP/states"
net_check "the next pod is under its own policy each time" \
	net_is "$(grep -cx $NEXT "$NET_TMP/states")" "$(wc -w <"$NET_TMP/places" | awk '{ print $1 - 2 }')"
net_check "an ADD killed anywhere leaves the pod guarded or not yet, a second interface has a name of the pod's own, the next DEL removes the pod, and its addresses' next owner inherits nothing" walk_add
echo "# $(cat "$NET_TMP/places")"
net_check "kills of the ADD left the pod closed or under its policy" grep -qx "$FORMER\|$CLOSED" "$NET_TMP/states"
net_check "the next pod is under its own policy after each killed ADD" \
	net_is "$(grep -cx $NEXT "$NET_TMP/states")" "$(wc -w <"$NET_TMP/places" | awk '{ print $1 - 2 }')"
net_check "an ADD that meets an error anywhere survives it or leaves the pod closed once it was guarded" walk_add_errors
echo "# $(cat "$NET_TMP/places")"
net_check "an ADD after a DEL waits for no grace period" net_is "$(grep -cx 324 "$NET_TMP/add")" 0 # membarrier(2)
net_check "a DEL waits for grace periods" eval 'pod former ADD && del_killed state 0 && grep -qx 324 "$NET_TMP/calls"'
net_check "entries of interfaces that are gone do not pile up" \
	test "$(net_bulkhead status -j | grep -o '"name":"ifaces","used":[0-9]*' | grep -o '[0-9]*$')" -le 4
net_end
