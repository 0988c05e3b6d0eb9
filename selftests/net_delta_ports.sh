#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A delta whose segments refer to a long list of ports: a load compares the list with the maps in a few calls of the
# kernel, not in one for each port and segment, and notices a list that is not as the policy says.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
PORTS=4000 # single ports, every second one

NET_PORTS="1001 1002"
net_start db web
db4=$(net_ip db) db6=$(net_ip6 db)
old=$NET_TMP/old.ini new=$NET_TMP/new.ini

objects() {
	local i
	for ((i = 0; i < 8; i++)); do
		printf '[endpoint shop/far-%d]\nip = 10.9.0.%d\nlabels = far=%d\nnode = far\n' $i $((i + 1)) $i
		printf '[network-policy shop/far-%d]\nendpoints = far=%d\ningress = from endpoints(role=web) ports UDP/%d\n' \
			$i $i $((i + 1))
	done
	printf '[node far]\nip = 192.168.8.1\n'
	printf '[endpoint shop/db]\nip = %s,%s\nlabels = role=db\nnode = here\n' "$db4" "$db6"
	printf '[endpoint shop/web]\nip = %s,%s\nlabels = role=web\nnode = here\n' "$(net_ip web)" "$(net_ip6 web)"
}
objects >"$old"
{
	objects
	printf '[network-policy shop/long]\nendpoints =\ningress = ports %s\n' \
		"$(seq -f 'TCP/%g' -s $',\n\t' 1 2 $((2 * PORTS)))"
} >"$new"

takes_few() { # LOAD-ARGUMENT...: fewer calls of bpf(2) than a quarter of the ports
	local calls
	net_fault bpf 0 kill load "$@" || return
	calls=$(wc -l <"$NET_TMP/calls")
	echo "$calls calls"
	[ "$calls" -gt 10 ] && [ "$calls" -lt $((PORTS / 4)) ]
}
made() {
	"$BULKHEAD" compile -o "$NET_TMP/old.bhp" "$old" &&
		"$BULKHEAD" compile --base "$NET_TMP/old.bhp" --delta -o "$NET_TMP/new.bhd" "$new"
}

net_check "compile a delta with $PORTS single ports for ten segments" made
net_check "load the policy before" net_bulkhead load -n here "$NET_TMP/old.bhp"
net_check "stage the delta in few calls" takes_few --stage "$NET_TMP/new.bhd"
net_allowed web tcp "$db4" 1002 "the staged list does not count"
# An interval in the middle of the list: its point, which is the port and a number above it, and its verdict.
key=(0xb8 0x0b 0x00 0x00) # 3000
interval() {
	bpftool -j map lookup pinned "$NET_PIN/ports" key "${key[@]}" | grep -oE '"value":\["0x[^]]*' | grep -oE '0x..' | xargs
}
read -ra was <<<"$(interval)"
put() { # BYTE...: of the interval
	bpftool map update pinned "$NET_PIN/ports" key "${key[@]}" value "$@"
}
net_check "the list has an interval there" test "${#was[@]}" -eq 8 -a "${was[*]}" != "0x00 0x00 0x00 0x00 0x00 0x00 0x00 0x00"
net_check "another verdict takes its place" put "${was[@]:0:4}" 0x55 0x00 0x00 0x00
net_check "the altered list is noticed" net_ends 2 "segments: an active entry is not as the policy says" \
	net_bulkhead load "$NET_TMP/new.bhd"
net_check "put the interval right" put "${was[@]}"
net_check "activate the staged delta in few calls" takes_few "$NET_TMP/new.bhd"
for address in "$db4" "$db6"; do
	net_allowed web tcp "$address" 1001 "a port of the list passes to $address"
	net_denied web tcp "$address" 1002 "a port beside the list is denied to $address"
done

net_end
