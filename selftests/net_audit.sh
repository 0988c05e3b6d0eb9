#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# An audited endpoint drops nothing; it counts and reports what would be dropped. Its enforced twin drops
# the same packets.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db cache web trial job
db4=$(net_ip db) cache4=$(net_ip cache) out4=$(net_ip out)

endpoint() { # NAMESPACE/POD [LINE...]
	net_endpoint "$1" "interface = veth-${1#*/}" "mac = $(net_mac "${1#*/}")" "${@:2}"
}
# db is audited by its own setting, trial by its namespace's; cache and job are their enforced twins.
policy() {
	cat <<-EOF2
	$(net_head "uplink = eth0")
	$(net_node_object)
	[namespace lab]
	audit = yes
	[network-policy shop/stores]
	endpoints = store=yes
	ingress = from endpoints(role=web) ports TCP/80, UDP/80
	[network-policy shop/job]
	endpoints = role=job
	types = Egress
	egress = to endpoints(store=yes) ports UDP/7000
	[network-policy lab/trial]
	endpoints =
	types = Egress
	$(endpoint shop/db "labels = store=yes" "audit = yes")
	$(endpoint shop/cache "labels = store=yes")
	$(endpoint shop/web)
	$(endpoint shop/job)
	$(endpoint lab/trial)
	EOF2
}
policy >"$NET_TMP/policy.ini"

events() {
	net_seen "$NET_TMP/watched"
}
event() { # PATTERN...: the events in $NET_TMP/events have a line with all of that
	local pattern lines
	lines=$(cat "$NET_TMP/events")
	for pattern; do
		lines=$(grep -F -- "$pattern" <<<"$lines") || { echo "no event with $*" && return 1; }
	done
}
no_event() {
	! event "$@" >/dev/null
}
by_egress="denied by the source's policy"
by_ingress="denied by the destination's policy"

net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
net_check "a reader" net_watch "$NET_TMP/watched" -j
net_check "status tells which interfaces are audited" \
	net_is "$(net_bulkhead status | grep -c 'veth.*audited only')" 2

echo "# an audited destination"
net_allowed web tcp "$db4" 80 "what the policy allows"
net_allowed web tcp "$db4" 443 "what it denies passes"
net_allowed web udp "$(net_ip6 db)" 443 "over IPv6 too"
net_denied web tcp "$cache4" 443 "and is dropped at its twin"
net_allowed web tcp "$cache4" 80 "which lets in what it allows"
net_check "one count for the packet, one for the error in answer" \
	net_moves "audit 2 $by_ingress" net_datagram web "$db4" 9
net_check "at its twin, one drop" net_moves "drop 1 $by_ingress" net_datagram web "$cache4" 9
net_check "from outside, the same" net_moves "audit 2 $by_ingress" net_datagram out "$db4" 9
net_allowed out tcp "$db4" 5978 "a SYN passes the uplink"
net_denied out tcp "$cache4" 5978 "and not to its twin"

echo "# an audited source"
net_allowed trial tcp "$out4" 80 "what its policy denies passes"
net_denied job tcp "$out4" 80 "and is dropped at its twin"
net_check "one count for each packet" net_moves "audit 2 $by_egress" net_datagram trial "$out4" 9
net_check "at its twin, one drop" net_moves "drop 1 $by_egress" net_datagram job "$out4" 9
# The node drops replies to the spoofed address.
ip -n "$NET-node" route add blackhole 10.99.0.1
ip -n "$NET-trial" addr add 10.99.0.1/32 dev lo
ip -n "$NET-job" addr add 10.99.0.1/32 dev lo
net_check "an address that is not its own passes" \
	net_moves "audit 1 source address that is not the endpoint's" \
	net_ask trial udp "$out4" 80 $NET_WAIT_DENIED 10.99.0.1
net_check "and is dropped at its twin" net_moves "drop 1 source address that is not the endpoint's" \
	net_ask job udp "$out4" 80 $NET_WAIT_DENIED 10.99.0.1

echo "# both ends"
net_allowed trial udp "$db4" 5978 "both audited"
net_check "one count for each packet" net_moves "audit 2 $by_egress" net_datagram trial "$db4" 9
net_denied trial udp "$cache4" 5978 "an enforced destination drops"
net_denied job udp "$db4" 5978 "and so does an enforced source"
net_allowed job udp "$db4" 7000 "but not what it allows"

events >"$NET_TMP/events"
net_check "what would have been dropped is reported, with why" event '"verdict":"audit"' \
	'"source":{"name":"shop/web"' '"destination":{"name":"shop/db"' '"port":"TCP/443"' \
	"\"reason\":\"$by_ingress\"" '"ingress":{"verdict":"deny","tier":"network-policy"'
net_check "for the source too" event '"verdict":"audit"' '"source":{"name":"lab/trial"' \
	"\"address\":\"$out4\"" '"egress":{"verdict":"deny","tier":"network-policy"'
net_check "both ends, where both would" event '"verdict":"audit"' '"port":"UDP/5978"' \
	'"source":{"name":"lab/trial"' '"destination":{"name":"shop/db"' '"egress":{"verdict":"deny"' \
	'"ingress":{"verdict":"deny"'
net_check "the uplink reports its drops for the twin" event '"hook":"uplink"' \
	'"destination":{"name":"shop/cache"'
net_check "and leaves the audited one to its own hook" no_event '"hook":"uplink"' '"name":"shop/db"'
net_check "as an event of that hook" event '"hook":"to endpoint"' '"verdict":"audit"' \
	'"source":{"name":null' '"destination":{"name":"shop/db"' '"port":"TCP/5978"'
net_check "nothing audited is called dropped" no_event '"verdict":"drop"' \
	'"destination":{"name":"shop/db"' '"source":{"name":"shop/web"'

# A frame is counted once, with all its bytes, at the hook that decides. No receiver replies.
tally() { # COMMAND...: "VERDICT REASON: PACKETS, BYTES" of the counters that it moved
	counted >"$NET_TMP/before"
	"$@" >/dev/null
	counted | awk -F '\t' -v before="$NET_TMP/before" '
		BEGIN { while ((getline <before) > 0) { packets[$1] = $2; bytes[$1] = $3 } }
		$2 != packets[$1] { print $1 ": " $2 - packets[$1] ", " $3 - bytes[$1] }'
}
counted() {
	net_bulkhead show counters | grep -v 'neighbour discovery or MLD$' |
		sed -E 's/^([a-z]+) +([0-9]+) packets +([0-9]+) bytes +(.*)/\1 \4\t\2\t\3/'
}
five() { # FROM KIND...
	net_frame "$1" -n 5 eth0 "${mac:-$(net_mac "$1")}" 02:00:00:00:02:01 "${@:2}"
}
counts() { # "VERDICT REASON" SIZE FROM KIND...
	net_check "$1: $3 ${*:4}" net_is "$(tally five "${@:3}")" "$1: 5, $((5 * $2))"
}
by_source="source address that is not the endpoint's"
by_form="inconsistent transport header" by_first="fragment whose first was not let through"
# web sends no ICMP error about fragments that stay incomplete: the reassembly timeout is an hour.
net_on web sh -c 'echo 3600 >/proc/sys/net/ipv4/ipfrag_time; echo 3600 >/proc/sys/net/ipv6/ip6frag_time'
for version in 4 6; do
	echo "# one count for each frame, IPv$version"
	if [ $version = 4 ]; then
		of=net_ip stranger=10.99.0.2 udp=50 first=98 error=78
	else
		of=net_ip6 stranger=fd99::2 udp=70 first=126 error=118
	fi
	trial=$($of trial) job=$($of job) web=$($of web) db=$($of db) cache=$($of cache) out=$($of out)
	for pod in web job cache db out; do
		net_nobody $pod "$trial" "$job" "$web" "$db" "$stranger"
	done
	counts "audit $by_egress" $udp trial udp "$trial" "$web" 9
	counts "drop $by_egress" $udp job udp "$job" "$web" 9
	counts "audit $by_egress" $udp trial udp "$trial" "$out" 9
	counts "drop $by_ingress" $udp trial udp "$trial" "$cache" 9
	counts "audit $by_egress" $udp trial udp "$trial" "$db" 9
	counts "audit $by_ingress" $udp web udp "$web" "$db" 9
	counts "drop $by_ingress" $udp web udp "$web" "$cache" 9
	net_check "what is allowed: two of them" net_is "$(tally five web udp "$web" "$cache" 80)" \
		"pass of an allowed connection: 4, $((4 * udp))
pass opens a connection that policy allows: 1, $udp"
	# A pod that is enforced cannot forge the mark by which a hook leaves the count to the next hook.
	tc -n "$NET-web" qdisc add dev eth0 clsact
	net_check "web writes what a hook would" net_on web "$NET_HELPERS/foreign" index eth0
	net_check "and counts as ever" net_is "$(tally five web udp "$web" "$job" 80)" \
		"pass of an allowed connection: 4, $((4 * udp))
pass opens a connection that policy allows: 1, $udp"
	tc -n "$NET-web" qdisc del dev eth0 clsact
	# From the second frame on, the destination knows the connection.
	counts "audit $by_source" $udp trial udp "$stranger" "$web" 9
	counts "drop $by_source" $udp job udp "$stranger" "$web" 9
	counts "audit $by_source" $udp trial udp "$stranger" "$out" 9
	counts "drop $by_ingress" $udp trial udp "$stranger" "$cache" 9
	counts "audit $by_source" $udp trial udp "$stranger" "$db" 9
	mac=02:00:00:00:09:09
	counts "audit source MAC that is not the endpoint's" $udp db udp "$db" "$web" 9
	counts "drop source MAC that is not the endpoint's" $udp cache udp "$cache" "$web" 9
	mac=
	# An enforced destination drops frames that no hook can parse.
	counts "drop $by_form" $udp trial short "$trial" "$web" 9
	counts "audit $by_form" $udp trial short "$trial" "$db" 9
	counts "audit $by_form" $udp trial short "$trial" "$out" 9
	counts "drop ICMP error about no connection" $error trial too-big "$trial" "$web" "$stranger" 53
	counts "audit ICMP error about no connection" $error trial too-big "$trial" "$db" "$stranger" 53
	counts "audit $by_egress" $first trial first "$trial" "$web" 9 7
	counts "audit $by_first" $first trial rest "$trial" "$web" 7
	counts "drop $by_egress" $first job first "$job" "$web" 9 7
	counts "drop $by_first" $first job rest "$job" "$web" 7
	counts "drop $by_first" $first trial rest "$trial" "$web" 8
	counts "audit $by_first" $first trial rest "$trial" "$db" 8
	for pod in web job cache db out; do
		for address in "$trial" "$job" "$web" "$db" "$stranger"; do
			ip -n "$NET-$pod" route del blackhole "$address"
		done
	done
done

# Opens a connection that stays open across loads. TCP doubles the time before each retransmission, so
# alive() waits longer where packets were dropped, and goes_on() longer still.
hold() { # FROM TO ADDRESS PORT
	mkfifo "$NET_TMP/ask" "$NET_TMP/hear"
	WAIT=3000 "$NET_HELPERS/pair" "/run/netns/$NET-$1" "/run/netns/$NET-$2" hold "$3" "$4" 1 \
		<"$NET_TMP/ask" >"$NET_TMP/hear" &
	NET_SERVERS+=($!)
	exec 8>"$NET_TMP/ask" 9<"$NET_TMP/hear"
	rm "$NET_TMP/ask" "$NET_TMP/hear"
}
hear() {
	local line=none
	read -r -t 60 -u 9 line
	echo "$line"
}
alive() {
	echo >&8
	hear
}

# The next retransmission may be as far off as the first one is past.
goes_on() {
	for _ in {1..6}; do
		[ "$(alive)" != 1 ] || return 0
	done
	return 1
}
# Waits until the connection works again and the counters stand still.
settles() {
	local counters
	goes_on || return
	until [ "${counters:-none}" = "$(net_counters)" ]; do
		counters=$(net_counters)
		sleep 0.3
	done
}

echo "# the whole node"
net_check "load --audit" net_bulkhead load --audit "$NET_TMP/policy.ini"
hold web cache "$cache4" 5001
net_check "a connection that policy denies opens" net_is "$(hear)" ready
net_check "and carries data" net_is "$(alive)" 1
net_allowed web tcp "$cache4" 443 "the enforced twin is audited now"
net_allowed job udp "$out4" 443 "and the other one"
net_allowed out tcp "$cache4" 5978 "the uplink lets it pass"
net_check "one count for each packet" net_moves "audit 2 $by_ingress" net_datagram out "$cache4" 9
net_check "load without it" net_bulkhead load "$NET_TMP/policy.ini"
net_check "enforces at once on what is open" net_is "$(alive)" 0
net_check "load --audit again" net_bulkhead load --audit "$NET_TMP/policy.ini"
net_check "lets it go on" goes_on
net_check "load without it, again" net_bulkhead load "$NET_TMP/policy.ini"
net_denied web tcp "$cache4" 443 "enforces again"
net_denied job udp "$out4" 443 "both of them"
net_allowed web tcp "$db4" 443 "and audits the others still"

echo "# one endpoint that comes"
again() { # NAMESPACE/POD LABELS
	net_bulkhead endpoint del "$1" &&
		net_bulkhead endpoint add "$1" --ip "$(net_ip "${1#*/}")" \
			--mac "$(net_mac "${1#*/}")" --labels "$2"
}
net_check "to a node that enforces" again shop/cache store=yes
net_denied web tcp "$cache4" 443 "is enforced"
net_check "which the policy in force has as audited" again shop/db store=yes
net_allowed web tcp "$db4" 443 "is only audited"
net_check "to a namespace that is audited there" again lab/trial role=trial
net_allowed trial tcp "$out4" 80 "is only audited, too"
audited_file() {
	printf '[namespace shop]\naudit = yes\n[endpoint shop/cache]\n%s\n%s\n' \
		"ip = $cache4" "labels = store=yes" >"$NET_TMP/cache.ini"
	net_bulkhead endpoint del shop/cache &&
		net_bulkhead endpoint add --file "$NET_TMP/cache.ini"
}
net_check "from a file that has its namespace as audited" audited_file
net_allowed web tcp "$cache4" 443 "so is that"
net_check "load --audit" net_bulkhead load --audit "$NET_TMP/policy.ini"
net_check "to a node that is only audited" again shop/cache store=yes
net_allowed web tcp "$cache4" 443 "is only audited"
net_check "what was open before goes on there, too" settles
net_check "one count for each packet" net_moves "audit 2 $by_ingress" net_datagram web "$cache4" 9
sed '/^uplink/d' "$NET_TMP/policy.ini" >"$NET_TMP/inside.ini"
ip -n "$NET-node" route del default
ip -n "$NET-node" -6 route del default
net_check "load --audit without an uplink" net_bulkhead load --audit "$NET_TMP/inside.ini"
net_check "to a node whose uplinks could not tell" again shop/cache store=yes
net_allowed web tcp "$cache4" 443 "is only audited still"
net_check "load without --audit" net_bulkhead load "$NET_TMP/inside.ini"
net_denied web tcp "$cache4" 443 "enforces"
net_check "to that node" again shop/cache store=yes
net_denied web tcp "$cache4" 443 "is enforced again"

net_end
