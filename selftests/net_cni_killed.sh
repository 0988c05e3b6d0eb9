#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A DEL of the CNI plugin that is killed at any system call that changes state leaves the pod under its policy
# or closed, whatever command comes next. The next DEL removes the pod, and the next pod of its addresses
# inherits nothing. CRASH=all kills at every system call.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"

CRASH=${CRASH:-state} STEP=1 SAMPLE=8
[ -z "${BULKHEAD_SMALL:-}" ] || SAMPLE=3
net_start
cni_start
# The former pod may hear and call UDP/443, the next one UDP/80, and nobody UDP/5978.
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
range() { # SUBNET ADDRESS
	echo "[{\"subnet\": \"$1\", \"rangeStart\": \"$2\", \"rangeEnd\": \"$2\"}]"
}
cni_conf one "{\"type\": \"ptp\", \"ipam\": {\"type\": \"host-local\", \"dataDir\": \"$CNI_DIR/ipam\",
	\"ranges\": [$(range 10.50.0.0/24 10.50.0.9), $(range fd50::/64 fd50::9)],
	\"routes\": [{\"dst\": \"0.0.0.0/0\"}, {\"dst\": \"::/0\"}]}}" "$(cni_own)"
PORTS="80 443 5978"

pod() { # NAME COMMAND
	CONTAINER=of-$1 cni_named "shop/$1" one "$2" pod
}
del_killed() { # state|all N
	cni_own '"cniVersion": "1.0.0", "name": "one"' |
		CNI_COMMAND=DEL CNI_CONTAINERID=of-former CNI_IFNAME=eth0 CNI_NETNS=/run/netns/$NET-pod \
			net_on node "$NET_HELPERS/fault" "$NET_TMP/calls" "$1" "$2" kill \
			"$CNI_DIR/bin/bulkhead-cni" >"$NET_TMP/fault" 2>&1
}

# Prints which ports answer to whoever asks, both ways, over IPv4 and IPv6.
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
	paste -d / "$NET_TMP"/[1-4]
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
FORMER=443/443/443/443 NEXT=80/80/80/80 CLOSED=///

is_gone() {
	net_is "$(net_bulkhead endpoint list)$(ls "$CNI_STATE")" ""
}
# One pod whose DEL is killed, and the next one at its addresses.
killed_at() { # N
	pod former ADD && is_one_of $FORMER || return
	del_killed "$CRASH" "$1"
	[ $? -eq 99 ] || { echo "not killed" && cat "$NET_TMP/fault" && return 1; }
	is_one_of $FORMER $CLOSED || return
	# any other command clears up
	net_fails 2 net_bulkhead endpoint del shop/nobody && is_one_of $FORMER $CLOSED &&
		pod former DEL && is_gone || return
	pod next ADD && is_one_of $NEXT && pod next DEL && is_gone
}
walk() {
	local at n
	pod former ADD && del_killed "$CRASH" 0 && is_one_of $CLOSED && pod former DEL && is_gone || return
	mapfile -t at < <(net_places $STEP $SAMPLE)
	: >"$NET_TMP/states"
	for n in "${at[@]}"; do
		killed_at "$n" || { echo "killed at $n: $(tail -n 1 "$NET_TMP/calls")" && return 1; }
	done
	echo "killed at ${at[*]}" >"$NET_TMP/places"
	[ ${#at[@]} -gt 2 ]
}

net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
cni_pod pod
net_serve pod
net_check "a DEL killed anywhere leaves the pod guarded, the next DEL removes it, and its addresses' next owner inherits nothing" walk
echo "# $(cat "$NET_TMP/places")"
net_check "kills left the pod under its policy" grep -qx $FORMER "$NET_TMP/states"
net_check "kills left the pod closed" grep -qx $CLOSED "$NET_TMP/states"
net_check "the next pod is under its own policy each time" \
	net_is "$(grep -cx $NEXT "$NET_TMP/states")" "$(wc -w <"$NET_TMP/places" | awk '{ print $1 - 2 }')"
net_end
