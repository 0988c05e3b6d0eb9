#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The cost of the CNI plugin: ADD and DEL of 1, 10 and 110 pods at once, behind ptp, without Bulkhead and
# with it, one after the other in the same run; the time of each stage of an ADD; and its map writes.
#
# Usage: cni.sh BUILD-FOLDER
set -u
BULKHEAD=$(cd "$1" && pwd)/bulkhead
export BULKHEAD
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/lib/net.sh
. "$here/../../selftests/lib/net.sh"
# shellcheck source=selftests/lib/cni.sh
. "$here/../../selftests/lib/cni.sh"

most=110
net_start
cni_start
{
	printf '[bulkhead]\nnode = worker-1\n'
	for ((i = 0; i < most; i++)); do
		printf '[endpoint shop/p%d]\nlabels = role=db\n' $i
	done
	printf '[network-policy shop/db]\nendpoints = role=db\ningress = from endpoints(role=web) ports TCP/80\n'
} >"$NET_TMP/policy.ini"
net_bulkhead load "$NET_TMP/policy.ini" >/dev/null || exit
cni_conf without "$(cni_ptp 10.50.0.0/22)"
cni_conf with "$(cni_ptp 10.54.0.0/22)" "$(cni_own "\"log\": \"$NET_TMP/log\"")"
for ((i = 0; i < most; i++)); do
	cni_pod "p$i"
done

call() { # NETWORK COMMAND POD
	CNI_PATH=$CNI_DIR/bin:$CNI_BIN RUNTIME_CACHE=$CNI_DIR/cache \
		CNI_ARGS="IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=$3" \
		nsenter --net="/run/netns/$NET-node" "$NET_HELPERS/runtime" "$CNI_DIR/net.d/$1.conflist" \
		"$2" "$3" "/run/netns/$NET-$3" eth0 >/dev/null 2>&1 || echo "$1 $2 $3" >>"$NET_TMP/failed"
}
at_once() { # NETWORK COMMAND N: prints milliseconds
	local began pids=() i
	began=$(date +%s%N)
	for ((i = 0; i < $3; i++)); do
		call "$1" "$2" "p$i" &
		pids+=($!)
	done
	wait "${pids[@]}"
	echo $((($(date +%s%N) - began) / 1000000))
}
# The middle one of three runs each, taken in turn.
middle() { sort -n | sed -n 2p; }

printf '%-28s %10s %10s\n' "milliseconds" "without" "with"
for n in 1 10 $most; do
	for command in ADD DEL; do
		: >"$NET_TMP/without.$command" && : >"$NET_TMP/with.$command"
	done
	for _ in 1 2 3; do
		for network in without with; do
			for command in ADD DEL; do
				at_once $network $command $n >>"$NET_TMP/$network.$command"
			done
		done
	done
	for command in ADD DEL; do
		printf '%-28s %10s %10s\n' "$command of $n at once" \
			"$(middle <"$NET_TMP/without.$command")" "$(middle <"$NET_TMP/with.$command")"
	done
done
echo
echo "map writes and stages of one ADD, in milliseconds:"
sed -n 's/.* ADD with p0 .*, \([0-9]* writes, [0-9.]* ms (.*)\)$/  \1/p' "$NET_TMP/log" | sed -n 1,3p
echo "of $most at once, the one in the middle and the last:"
grep ' ADD ' "$NET_TMP/log" | tail -n $most | sed 's/.*, \([0-9.]* ms (.*)\)$/\1/' | sort -n |
	sed -n "$((most / 2))p;${most}p" | sed 's/^/  /'
[ ! -s "$NET_TMP/failed" ] || { echo "calls that failed: $(sort "$NET_TMP/failed" | uniq -c | wc -l)" && sed -n 1,3p "$NET_TMP/failed"; }
