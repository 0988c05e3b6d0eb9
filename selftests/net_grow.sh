#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A policy that outgrows its maps gets larger ones while packets flow: the programs and their hooks, connections
# and rule counters stay, and no packet is evaluated by half a policy.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/hooks.sh
. "$(dirname "$0")/lib/hooks.sh"

NET_PORTS="80 443"
net_start db web
db4=$(net_ip db) db6=$(net_ip6 db)

# db admits TCP/80, TCP/7000, UDP/1001 and UDP/1003 from web; a rule denies UDP/1002 and UDP/1004. A first load makes
# maps with room for tens of thousands of entries, and to attach a thousand interfaces takes the kernel long: this
# library makes the maps for three interfaces, two MACs, and a thousand entries of the policy.
cat >"$NET_TMP/tight.c" <<'EOF2'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>

static const struct {
	const char *name;
	unsigned room;
} tight[] = {
	{"bh_ifaces", 3},      {"bh_macs", 2},     {"bh_endpoints", 1028}, {"bh_prefixes", 1027},
	{"bh_segments", 1026}, {"bh_pairs", 1024}, {"bh_ports", 1024},     {"bh_named", 1024},
	{"bh_variations", 1024}, {"bh_services", 1024},
};

long syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long (*next)(long, long, long, long, long, long, long) = dlsym(RTLD_NEXT, "syscall");
	union bpf_attr *map = (union bpf_attr *)b;

	if (number == SYS_bpf && a == BPF_MAP_CREATE)
		for (unsigned i = 0; i < sizeof(tight) / sizeof(*tight); i++)
			if (!strcmp(map->map_name, tight[i].name))
				map->max_entries = tight[i].room;
	return next(number, a, b, c, d, e, f);
}
EOF2
gcc -shared -fPIC -o "$NET_TMP/tight.so" "$NET_TMP/tight.c" || exit 1
load_tight() { # INPUT
	LD_PRELOAD=$NET_TMP/tight.so net_bulkhead load "$1"
}

policy() { # COUNT: how many endpoints elsewhere, each with a policy, and blocks of its own
	hooks_policy
	cat <<-EOF2
	[admin-network-policy guard]
	priority = 10
	subject = namespaces(kubernetes.io/metadata.name=shop)
	ingress = never: Deny from namespaces() ports UDP/1002, UDP/1004
	[network-policy shop/db-6]
	endpoints = role=db
	ingress = from endpoints(role=web) ports UDP/1003
	EOF2
	awk -v n="$1" 'BEGIN {
		for (i = 0; i < n; i++) {
			at = int(i / 200) "." i % 200
			print "[endpoint big/e" i "]\nnode = worker-2\nip = 10." 64 + int(i / 200) "." i % 200 ".1"
			print "labels = id=e" i "\nport = web TCP/" 20000 + i
			print "[network-policy big/p" i "]\nendpoints = id=e" i
			print "ingress = from endpoints(id=e" (i + 1) % n "), cidr(20." at ".0/24) ports web, TCP/" 30000 + i
		}
		if (!n)
			exit
		print "[endpoint big/router]\nnode = worker-1\ninterface = veth-router"
		print "ip = 10.63.0.1\nmac = 02:00:00:00:09:01"
		printf "allow-source = 30.0.0.0/32"
		for (i = 1; i < n; i++)
			printf ",\n\t30.0.%d.%d/32", int(i / 256), i % 256
		print ""
	}'
}
ip -n "$NET-node" link add veth-router address 02:00:00:00:02:01 \
	type veth peer name veth-nobody
policy 0 >"$NET_TMP/small.ini"
policy 1300 >"$NET_TMP/large.ini"
grown="ifaces macs allow_source endpoints prefixes segments pairs ports named variations"

load_tight "$NET_TMP/small.ini" >"$NET_TMP/said" 2>&1

sizes() { # how large the maps are, as "NAME SIZE" lines
	net_bulkhead status -j | tr '{' '\n' | sed -n 's/.*"name":"\([a-z_0-9]*\)","used":[0-9]*,"max":\([0-9]*\).*/\1 \2/p'
}
size() { # NAME FILE
	sed -n "s/^$1 //p" "$2"
}
all_grown() {
	local name
	for name in $grown; do
		[ "$(size "$name" "$NET_TMP/after")" -gt "$(size "$name" "$NET_TMP/before")" ] ||
			{ echo "$name is $(size "$name" "$NET_TMP/after")" && return 1; }
	done
}
others_are_as_they_were() {
	local name
	for name in added ct shares; do
		net_is "$(size "$name" "$NET_TMP/after")" "$(size "$name" "$NET_TMP/before")" || return
	done
}
# The programs that are pinned, the links of hooks, and all programs that read the maps.
programs() {
	"$NET_HELPERS/pins" "$NET_PIN" | awk '/^(prog|link|user) / { print $1, $2, $3 }'
}
same_programs() { # COMMAND...: no program is replaced; the hooks stay, and new ones may be there
	local before
	before=$(programs)
	"$@" && diff <(grep -v ^link <<<"$before") <(programs | grep -v ^link) &&
		! grep -vxFf <(programs) <<<"$before"
}
hits() { # RULE: how often it decided
	# the table for people rounds what is over 10,000
	net_bulkhead show rules -j | grep -o "\"policy\":\"guard\",\"rule\":\"$1\"[^}]*" | grep -o '"hits":[0-9]*' | cut -d: -f2
}
# Traces, again and again, flows on which both policies agree.
ask_maps() {
	local asked=0
	until [ -e "$NET_TMP/enough" ]; do
		net_bulkhead trace --from shop/web --to shop/db --port TCP/80 >"$NET_TMP/trace" 2>&1 ||
			break
		net_bulkhead trace --from shop/web --to shop/db --port TCP/443 >"$NET_TMP/trace" 2>&1
		[ $? -eq 1 ] || break
		asked=$((asked + 1))
	done
	[ -e "$NET_TMP/enough" ] || cat "$NET_TMP/trace"
	echo "asked $asked times"
}

hooks_connect
net_check "a connection opens" hooks_connected
net_bulkhead monitor >"$NET_TMP/events" 2>&1 &
monitor=$!
NET_SERVERS+=("$monitor")
net_stream db recv 1001 1002 1003 1004
net_stream web send "$db4" 1001 1002 "1003@$db6" "1004@$db6"
ask_maps >"$NET_TMP/asked" &
asker=$!
sleep 0.3
sizes >"$NET_TMP/before"
no_room() { # FOR ARGUMENT...: endpoint add, for which that map has none
	net_ends 3 "the map $1 has room for 3 entries, .* a load that has it makes room" \
		net_bulkhead endpoint add big/router --ip 10.63.0.1 \
		--interface veth-router "${@:2}" &&
		! net_bulkhead endpoint list | grep router
}
net_check "endpoint add reports that the maps have no room for its interface" no_room ifaces
net_check "endpoint add reports that the maps have no room for its MAC" no_room ifaces --mac 02:00:00:00:09:01
net_check "a policy that outgrows the maps leaves the programs and the hooks" same_programs \
	net_bulkhead load "$NET_TMP/large.ini"
sizes >"$NET_TMP/after"
touch "$NET_TMP/enough"
wait $asker
net_check "the maps of policy are larger afterwards" all_grown
net_check "the other maps keep their sizes" others_are_as_they_were
net_check "the programs read the maps that are pinned" hooks_placed
net_check "every hook has the pinned programs" hooks_converged
net_check "the connection goes on in the larger maps" hooks_connected
net_check "the policy is enforced in the larger maps" hooks_enforced
writes=$(net_writes "$NET_TMP/large.ini")
net_check "the same load again writes nothing" net_is "$writes" 0
net_stream_end
sed 's/^/# sent to /' "$NET_TMP/web.counts"
sed 's/^/# received at /' "$NET_TMP/db.counts"
sleep 0.5
kill $monitor
net_check "over 100 datagrams were sent meanwhile" test "$(net_count web 1001)" -gt 100
net_check "no allowed datagram was lost" net_is "$(net_count db 1001)" "$(net_count web 1001)"
net_check "no denied datagram arrived" net_is "$(net_count db 1002)" 0
net_check "over 100 datagrams were sent by IPv6" test "$(net_count web "1003@$db6")" -gt 100
net_check "no allowed datagram was lost by IPv6" \
	net_is "$(net_count db 1003)" "$(net_count web "1003@$db6")"
net_check "no denied datagram arrived by IPv6" net_is "$(net_count db 1004)" 0
net_check "the rule that denies has counted each datagram" net_is "$(hits never)" \
	$(($(net_count web 1002) + $(net_count web "1004@$db6")))
net_check "trace had the right answers meanwhile" \
	grep -qx 'asked [1-9][0-9]* times' "$NET_TMP/asked"
sed 's/^/# /' "$NET_TMP/asked"
net_check "monitor had the names of both policies' rules" bash -c \
	"! grep 'UDP/100[24]' '$NET_TMP/events' | grep -v 'shop/web .*shop/db .*guard/never'"
net_check "trace of the maps says the same as of the input" net_is \
	"$(net_bulkhead trace --from big/e1001 --to big/e1000 --port TCP/21000)" \
	"$("$BULKHEAD" trace --from big/e1001 --to big/e1000 --port TCP/21000 "$NET_TMP/large.ini")"
net_check "load the small policy again" net_bulkhead load --force "$NET_TMP/small.ini"
net_check "the small policy is enforced" hooks_enforced

# Entries of Services are of a generation: a change has those of two.
services() { # COUNT PORT
	policy 0
	awk -v n="$1" -v port="$2" 'BEGIN {
		for (i = 0; i < n; i++)
			print "[service big/s" i "]\naddress = 10.96." int(i / 200) "." i % 200 + 1 "\nport = TCP/" (i ? 80 : port)
	}'
}
services 2000 80 >"$NET_TMP/services.ini"
services 2000 81 >"$NET_TMP/changed.ini"
delta() { # FROM TO: writes TO.bhp and TO.bhd
	"$BULKHEAD" compile --base "$NET_TMP/$1.bhp" -o "$NET_TMP/$2.bhp" "$NET_TMP/$2.ini" &&
		"$BULKHEAD" compile --base "$NET_TMP/$1.bhp" --delta -o "$NET_TMP/$2.bhd" "$NET_TMP/$2.ini"
}
"$BULKHEAD" compile -o "$NET_TMP/small.bhp" "$NET_TMP/small.ini" >"$NET_TMP/said"
net_check "deltas" eval 'delta small services && delta services changed'
net_bulkhead unload && load_tight "$NET_TMP/small.bhp"
sizes >"$NET_TMP/small"
net_check "a delta whose Services outgrow the maps leaves the programs and the hooks" same_programs \
	net_bulkhead load "$NET_TMP/services.bhd"
sizes >"$NET_TMP/before"
net_check "the map of Services is larger" test "$(size services "$NET_TMP/before")" -gt "$(size services "$NET_TMP/small")"
net_check "a change of one Service" net_bulkhead load "$NET_TMP/changed.bhd"
sizes >"$NET_TMP/after"
net_check "the change makes no map larger" cmp "$NET_TMP/before" "$NET_TMP/after"
net_bulkhead unload && net_bulkhead load "$NET_TMP/small.bhp" >"$NET_TMP/said" 2>&1
sizes >"$NET_TMP/before"
net_check "load of that delta where a first load made the maps" net_bulkhead load "$NET_TMP/services.bhd"
sizes >"$NET_TMP/after"
net_check "a first load's maps have room for it" cmp "$NET_TMP/before" "$NET_TMP/after"
net_check "maps that changes read whole have few places" test "$(size ifaces "$NET_TMP/after")" -lt 2048 -a \
	"$(size resolvers "$NET_TMP/after")" -lt 2048

# A map counts the hits of 8,192 rules; rules above get further maps.
rules() { # COUNT: of policies of 100 rules
	policy 0
	awk -v n="$1" 'BEGIN {
		print "[endpoint big/e]\nnode = worker-2\nip = 10.64.0.1\nlabels = id=e"
		for (i = 0; i < n; i++) {
			print "[network-policy big/p" i "]\nendpoints = id=e"
			for (k = 0; k < 100; k++)
				print "ingress = from cidr(20." int(i / 200) "." i % 200 ".0/24) ports TCP/" k + 1000 + 100 * i
		}
	}'
	[ "$1" -eq 0 ] || printf '%s\n' "[network-policy shop/last]" "endpoints = role=db" \
		"ingress = from endpoints(role=web) ports TCP/443"
}
last() { # id|hits: of the rule of shop/last
	net_bulkhead show rules -j | grep -o '"policy":"shop/last"[^}]*\|"id":[0-9]*[^}]*"policy":"shop/last"[^}]*' |
		grep -o "\"$1\":[0-9]*" | cut -d: -f2
}
counts_last() {
	local before
	before=$(last hits)
	net_ask web tcp "$db4" 443 "$NET_WAIT_ALLOWED" && net_ask web tcp "$db6" 443 "$NET_WAIT_ALLOWED" &&
		net_is "$(last hits)" $((before + 2))
}
rules 0 >"$NET_TMP/few.ini"
rules 83 >"$NET_TMP/many.ini"
net_bulkhead unload && net_bulkhead load "$NET_TMP/few.ini" >"$NET_TMP/said" 2>&1
net_check "a policy of 8,300 more rules leaves the programs and the hooks" same_programs \
	net_bulkhead load "$NET_TMP/many.ini"
net_check "the last rule is above the first map" test "$(last id)" -gt 8192
net_check "the hits of that rule count" counts_last
net_bulkhead unload && net_bulkhead load "$NET_TMP/many.ini" >"$NET_TMP/said" 2>&1
net_check "the hits of the last rule count after a first load of as many rules" counts_last

# A load that is killed at a change of state or gets ENOMEM from a bpf(2) (a sample, or all with CRASH=all)
# leaves one active policy, whole. The next load, of either policy in turn, completes or removes the
# larger maps.
"$BULKHEAD" compile --base "$NET_TMP/small.bhp" -o "$NET_TMP/large.bhp" "$NET_TMP/large.ini" \
	>"$NET_TMP/said"
walk() { # kill|ERRNO STATUS state|bpf PLACE...
	local next=small n got
	for n in "${@:4}"; do
		net_bulkhead unload && load_tight "$NET_TMP/small.bhp" || return
		net_fault "$3" "$n" "$1" load "$NET_TMP/large.bhp" >"$NET_TMP/faulted" 2>&1
		got=$?
		cat "$NET_TMP/faulted" >>"$NET_TMP/told"
		# libbpf succeeds without some of the calls.
		[ $got -eq "$2" ] || [ $got -eq 0 ] || { echo "at $n: status $got" && return 1; }
		hooks_enforced && net_bulkhead status >"$NET_TMP/out" || { echo "at $n" && return 1; }
		net_bulkhead load --force --rollback "$NET_TMP/$next.bhp" && hooks_enforced && hooks_converged ||
			{ echo "at $n: not repaired" && return 1; }
		net_is "$(net_writes "$NET_TMP/$next.bhp")" 0 || { echo "at $n" && return 1; }
		[ $next = small ] && next=large || next=small
	done
}
SAMPLE=2
[ -z "${BULKHEAD_SMALL:-}" ] || SAMPLE=1
places() { # state|bpf PATTERN STEP: at which calls there is something to fail
	local step=$3
	[ -z "${BULKHEAD_SMALL:-}" ] || step=$((2 * step))
	[ -z "${CRASH:-}" ] || step=1
	{
		net_bulkhead unload && load_tight "$NET_TMP/small.bhp" &&
			net_fault "$1" 0 kill load "$NET_TMP/large.bhp"
	} >"$NET_TMP/said" 2>&1
	grep -nE "$2" "$NET_TMP/calls" | cut -d: -f1 | net_sample $step $SAMPLE
}
mapfile -t kills < <(places state . 16)
net_check "a load that outgrows the maps, killed at ${#kills[@]} places, leaves one policy whole" walk kill 99 state "${kills[@]}"
# bpf(2) command 0 makes a map, 5 loads a program.
mapfile -t failures < <(places bpf '^bpf [05]$' 4)
net_check "such a load without memory at ${#failures[@]} places leaves one policy whole" walk 12 3 bpf "${failures[@]}"
# A sample seldom hits a fatal failure: libbpf retries a map without its BTF types.
[ -z "${BULKHEAD_FULL:-}" ] || net_check "a load without memory names the maps and their need" \
	grep -q "map endpoints: needs 13[0-9]* entries" "$NET_TMP/told"
net_check "unload" net_bulkhead unload
net_check "unload leaves no pin folder" test ! -e "$NET_PIN"
hooks_disconnect
net_end
