#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Commands are killed while libxdp changes a dispatcher, alone on the uplink or beside another program: the
# next load or unload leaves no pin of a dispatcher without an interface. Dispatchers of others stay, in
# this network namespace and on the interface of the same number in another one.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

STEP=${STEP:-${BULKHEAD_SMALL:+3}} SAMPLE=2
[ -z "${BULKHEAD_SMALL:-}" ] || SAMPLE=2
PINS=/sys/fs/bpf/xdp
command -v xdp-loader clang >/dev/null || net_skip "needs xdp-tools and clang"
[ -z "$(ls $PINS 2>/dev/null)" ] || net_skip "libxdp is in use"
net_start db
db4=$(net_ip db)

policy() { # [UPLINK]
	cat <<-EOF2
	$(net_head "uplink = ${1:-none0}")
	$(net_endpoint_at db worker-1 "$db4" "interface = veth-db")
	[network-policy shop/db]
	endpoints = role=db
	ingress = from cidr(192.168.7.0/24) ports TCP/80
	EOF2
}
ip -n "$NET-node" link add none0 type veth peer name none1
policy >"$NET_TMP/before.ini"
policy eth0 >"$NET_TMP/policy.ini"

# Another program for the dispatcher.
cat >"$NET_TMP/other.c" <<'EOF2'
#include <linux/bpf.h>

__attribute__((section("xdp"), used)) int other(struct xdp_md *packet)
{
	return XDP_PASS;
}

char _license[] __attribute__((section("license"), used)) = "GPL";
EOF2
clang -O2 -g -target bpf -I/usr/include/"$(uname -m)-linux-gnu" -c -o "$NET_TMP/other.o" \
	"$NET_TMP/other.c" || exit 1
other() { # HOST
	net_on "$1" xdp-loader load -m skb -n other eth0 "$NET_TMP/other.o"
}
cleanup() {
	local host
	for host in node out; do
		net_on $host xdp-loader unload -a eth0 >/dev/null 2>&1
	done
	net_cleanup
}
trap cleanup EXIT

runs() { # HOST PROGRAM...: and nothing else
	net_is "$(net_on "$1" xdp-loader status eth0 | awk '/=>/ { print $3 }' | sort | xargs)" "${*:2}"
}
pinned() { # the dispatchers that are on an interface, and what is pinned
	local host
	for host in node out; do
		ip -n "$NET-$host" -j link show eth0 |
			sed -nE 's/.*"ifindex":([0-9]+),.*"prog":\{"id":([0-9]+),.*/dispatch-\1-\2/p'
	done | sort | xargs
	find $PINS -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | xargs
}
is_tidy() {
	local on there
	{ read -r on && read -r there; } < <(pinned)
	net_is "$there" "$on" && runs out other
}

other out
runs out other >/dev/null 2>&1 || net_skip "the kernel refuses BPF_PROG_TYPE_EXT: no dispatcher"
net_check "two namespaces have an interface of the same number" net_is \
	"$(ip -n "$NET-node" -o link show eth0 | cut -d: -f1)" "$(ip -n "$NET-out" -o link show eth0 | cut -d: -f1)"

nothing() {
	net_bulkhead unload
}
without_uplink() {
	nothing && net_bulkhead load "$NET_TMP/before.ini"
}
loaded() {
	net_bulkhead load "$NET_TMP/policy.ini"
}

# libxdp pins and unpins next to the last folder that the command makes, or the first that it removes.
places() { # load|unload
	case $1 in
	load) awk '{ at[NR] = $0 } $0 == 83 { last = NR }
		END { for (n = last - 5; n <= last + 10; n++) if (pins(at[n]) || pins(at[n - 1])) print n }
		function pins(call) { return call ~ /^(83|84|87|bpf 6)$/ }' "$NET_TMP/calls" ;;
	unload) awk '$0 == 84 { for (n = NR - 9; n <= NR; n++) if (n > 0) print n; exit }' "$NET_TMP/calls" ;;
	esac | net_sample "${STEP:-1}" $SAMPLE
}

# A load and an unload in turn repair the rest.
mend() { # NUMBER OTHERS...
	local others=("${@:2}")
	if [ $(($1 % 2)) -eq 0 ]; then
		loaded && is_tidy && runs node "${others[@]}" xdp_uplink || return
	fi
	nothing && is_tidy && runs node "${others[@]}"
}
left=0
walk() { # BEGIN OTHER COMMAND...
	local n i=0
	$1 && net_fault state 0 kill "${@:3}" && mapfile -t places < <(places "$3") && nothing && is_tidy ||
		return
	for n in "${places[@]}"; do
		i=$((i + 1))
		$1 && net_kill_at state "$n" "$1" "${@:3}" || return
		is_tidy >/dev/null || left=$((left + 1))
		# shellcheck disable=SC2086
		mend $i $2 || { echo "killed at $n" && return 1; }
	done
	[ $i -gt 0 ]
}
walked() { # NAME WALK-ARGUMENT...
	left=0
	net_check "$1" walk "${@:2}"
	echo "# ${#places[@]} places, at $left something was left"
	net_check "some killed commands left a pin" test $left -gt 0
}

walked "a first load" nothing "" load "$NET_TMP/policy.ini"
walked "a load that adds the uplink" without_uplink "" load "$NET_TMP/policy.ini"
walked "an unload" loaded "" unload
net_check "another program shares the uplink" other node
walked "a first load beside it" nothing other load "$NET_TMP/policy.ini"
walked "an unload beside it" loaded other unload
net_check "the other's programs are still attached" is_tidy
net_check "the other's programs run" runs node other
net_end
