#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A policy that does not fit is refused with the map, its need and its limit; the active policy and the
# maps stay the same. (Maps that can grow: net_grow.)
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web late
net_old_and_new
old=$NET_TMP/old.ini new=$NET_TMP/new.ini
nothing=$(net_on node bpftool -j net show)

# Makes the kernel create maps of other sizes: SIZES="bh_macs=2 ..."; 0 gives ENOMEM.
cat >"$NET_TMP/sizes.c" <<'EOF2'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

long syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long (*next)(long, long, long, long, long, long, long) = dlsym(RTLD_NEXT, "syscall");
	union bpf_attr *map = (union bpf_attr *)b;
	const char *sizes = getenv("SIZES"), *at;

	if (number != SYS_bpf || a != BPF_MAP_CREATE || !sizes || !*map->map_name)
		return next(number, a, b, c, d, e, f);
	at = strstr(sizes, map->map_name);
	if (at && at[strlen(map->map_name)] == '=')
		map->max_entries = atoi(at + strlen(map->map_name) + 1);
	if (map->max_entries)
		return next(number, a, b, c, d, e, f);
	errno = ENOMEM;
	return -1;
}
EOF2
# Fills every unused slot of bh_segments from a given one on.
cat >"$NET_TMP/fill.c" <<'EOF2'
#include <bpf/bpf.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	const unsigned int size = 64, first = atoi(argv[2]);
	unsigned int n = atoi(argv[3]) - first, *keys = calloc(n, sizeof(*keys));
	char *values = calloc(n, size);

	for (unsigned int i = 0; i < n; i++) {
		keys[i] = first + i;
		*(unsigned int *)(values + i * size) = 0x70000000 + i;
	}
	return bpf_map_update_batch(bpf_obj_get(argv[1]), keys, values, &n, NULL) ? 1 : 0;
}
EOF2
gcc -shared -fPIC -o "$NET_TMP/sizes.so" "$NET_TMP/sizes.c" &&
	gcc -o "$NET_TMP/fill" "$NET_TMP/fill.c" -lbpf || exit 1

load_sized() { # SIZES INPUT
	SIZES=$1 LD_PRELOAD=$NET_TMP/sizes.so net_bulkhead load "$2"
}
maps="ifaces macs allow_source endpoints added prefixes pairs ports named variations"
held() { # entries of the policy's maps, and the slots of its segments
	# shellcheck disable=SC2086 # the names
	"$NET_HELPERS/entries" "$NET_PIN" $maps | sha256sum
	printf "map lookup pinned $NET_PIN/segments key %d 0 0 0\n" {1..20} | bpftool batch file - | sha256sum
	net_bulkhead show generation
}
as_before() {
	net_is "$(net_active)" old && net_is "$(held)" "$before"
}

net_check "a first load without memory for its maps is refused" net_ends 3 \
	"map endpoints: needs 4 entries; it was to be made for 28090" \
	load_sized "bh_endpoints=0" "$old"
net_check "the refused first load activates nothing" net_is "$(net_active)" both
net_check "the refused first load attaches nothing" net_is "$(net_on node bpftool -j net show)" "$nothing"
net_check "the refused first load pins nothing" net_is "$(ls "$NET_PIN")" ""

# An assignment word has twenty bits for a segment's slot, whatever the map's size.
slots=$((1 << 20))
net_check "load with a larger map of segments" load_sized "bh_segments=$((slots + 4096))" "$old"
free=1
until bpftool -j map lookup pinned "$NET_PIN/segments" key $free 0 0 0 | grep -q '"id":0,'; do
	free=$((free + 1))
done
net_check "fill every slot that a word can name" \
	"$NET_TMP/fill" "$NET_PIN/segments" $free $slots
before=$(held)
no_slots="map segments: needs 10485[0-9]* entries; it can have $slots"
net_check "a load of another policy is refused for want of slots" net_ends 3 "$no_slots" net_bulkhead load "$new"
net_check "the refused load changes nothing" as_before
net_check "staging another policy is refused for want of slots" net_ends 3 "$no_slots" net_bulkhead load --stage "$new"
net_check "the refused staging changes nothing" as_before
net_check "unload" net_bulkhead unload

# The variations of named ports that a namespace may have in one segment have a limit.
{
	cat "$new"
	printf '[network-policy a/n]\nendpoints =\ningress = from any ports web\n'
	for i in {1..2049}; do
		printf '[endpoint a/p%d]\nip = 10.9.%d.%d\nport = web TCP/%d\n' \
			"$i" $((i / 256)) $((i % 256)) "$i"
	done
} >"$NET_TMP/many.ini"

net_check "load the old policy" net_bulkhead load "$old"
net_check "a policy with more variations than a namespace may have is set aside" net_ends 0 \
	"many.ini:.* a/n: warning: is set aside.* needs 2049 variations .* limit of one is 2048" \
	net_bulkhead load "$NET_TMP/many.ini"
net_check "the rest of that load is active" net_is "$(net_active)" new
closed() { # the policy that is set aside isolates what it selects
	net_ends 1 deny net_bulkhead trace --from shop/web --to a/p1 --port TCP/1
}
net_check "the policy that is set aside lets nothing through" closed
net_check "unload" net_bulkhead unload

{
	cat "$old"
	net_endpoint late "mac = $(net_mac late)"
} >"$NET_TMP/late.ini"
add() {
	net_bulkhead endpoint add shop/late --ip "$(net_ip late),$(net_ip6 late)" \
		--mac "$(net_mac late)" --labels role=odd
}
is_guarded() {
	net_bulkhead endpoint list | grep shop/late && net_bulkhead status | grep veth-late
}
late_comes() { # `ip link set down` has removed the routes
	ip -n "$NET-node" link set veth-late up &&
		ip -n "$NET-node" route add "$(net_ip late)" dev veth-late &&
		ip -n "$NET-node" -6 route add "$(net_ip6 late)" dev veth-late
}
no_room() { # MAP ENTRIES: all that policy uses of it, or not enough for the endpoint
	# An interface that is up is already in bh_ifaces, as an exit.
	[ "$1" != ifaces ] || ip -n "$NET-node" link set veth-late down
	load_sized "bh_$1=$2" "$old" && before=$(held) &&
		{ [ "$1" != ifaces ] || late_comes; } &&
		net_ends 3 "the map $1 has room for $2 entries, and the endpoint needs more" add &&
		as_before && ! is_guarded || return
	grep "a load that has it makes room" "$NET_TMP/said" && net_bulkhead load "$NET_TMP/late.ini" &&
		is_guarded && net_bulkhead unload
}
for map in "ifaces 3" "macs 2" "endpoints 4" "added 1"; do
	# shellcheck disable=SC2086
	net_check "endpoint add is refused where $map has no room" no_room $map
done
net_end
