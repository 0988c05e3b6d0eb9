#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The cost of hooks: a first load of many interfaces, `unload`, and `endpoint add` and `del` with an interface beside
# them; with expedited grace periods and with normal ones, one after the other in the same run.
#
# Usage: [INTERFACES=1100] [ROUNDS=3] interfaces.sh BUILD-FOLDER
set -u
BULKHEAD=$(cd "$1" && pwd)/bulkhead
export BULKHEAD
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/lib/net.sh
. "$here/../../selftests/lib/net.sh"
most=${INTERFACES:-1100} rounds=${ROUNDS:-3}

net_start late
address() { # NUMBER
	echo "10.250.$(($1 / 250)).$(($1 % 250 + 1))"
}
for ((i = 0; i < most; i++)); do
	echo "link add p$i type veth peer name p$i netns $NET-out"
	echo "link set p$i up"
	echo "route add $(address $i) dev p$i"
done >"$NET_TMP/batch"
ip -n "$NET-node" -batch "$NET_TMP/batch" || exit
{
	net_head "uplink = eth0"
	for ((i = 0; i < most; i++)); do
		printf '[endpoint shop/p%d]\nnode = worker-1\nip = %s\nlabels = role=db\n' $i "$(address $i)"
	done
	printf '[network-policy shop/db]\nendpoints = role=db\ningress = from endpoints(role=web) ports TCP/80\n'
} >"$NET_TMP/policy.ini"

timed() { # FILE COMMAND...: adds its milliseconds to the file
	local began
	began=$(date +%s%N)
	net_bulkhead "${@:2}" >"$NET_TMP/said" 2>&1 || { cat "$NET_TMP/said" && exit 1; }
	echo $((($(date +%s%N) - began) / 100000)) >>"$NET_TMP/$1"
}
round() { # expedited|normal
	timed "$1.load" load --set "rcu=$1" "$NET_TMP/policy.ini"
	timed "$1.add" endpoint add shop/late --ip "$(net_ip late)" --interface veth-late --labels role=db
	timed "$1.del" endpoint del shop/late
	timed "$1.unload" unload
}
for ((n = 0; n < rounds; n++)); do
	round expedited
	round normal
done
middle() { # FILE
	sort -n "$NET_TMP/$1" | sed -n "$(((rounds + 1) / 2))p" | sed -E 's/(.)$/.\1/; s/^\./0./'
}
printf '%-34s %10s %10s\n' "milliseconds, $most interfaces" expedited normal
for what in load unload add del; do
	name=$what
	[ $what != load ] || name="first load"
	[ $what != add ] && [ $what != del ] || name="endpoint $what with an interface"
	printf '%-34s %10s %10s\n' "$name" "$(middle expedited.$what)" "$(middle normal.$what)"
done
