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
net_check "a reader of events starts" net_watch "$NET_TMP/watched" -j
net_check "status tells which interfaces are audited" \
	net_is "$(net_bulkhead status | grep -c 'veth.*audited only')" 2

echo "# an audited destination"
net_allowed web tcp "$db4" 80 "an audited destination gets what policy allows"
net_allowed web tcp "$db4" 443 "an audited destination gets what policy denies"
net_allowed web udp "$(net_ip6 db)" 443 "an audited destination gets what policy denies over IPv6"
net_denied web tcp "$cache4" 443 "its enforced twin drops the same"
net_allowed web tcp "$cache4" 80 "the enforced twin gets what policy allows"
net_check "one audit count for the packet, one for the ICMP error that answers it" \
	net_moves "audit 2 $by_ingress" net_datagram web "$db4" 9
net_check "at the enforced twin one drop" net_moves "drop 1 $by_ingress" net_datagram web "$cache4" 9
net_check "a packet from outside has the same two counts" net_moves "audit 2 $by_ingress" net_datagram out "$db4" 9
events >"$NET_TMP/events"
net_check "the event of the ICMP error has the datagram's port at the end that has it" event \
	'"source":{"name":"shop/db","address":"'"$db4"'","port":9}' '"destination":{"name":"shop/web"' '"port":"UDP/9"' '"reply":true'
net_allowed out tcp "$db4" 5978 "a denied SYN from outside passes the uplink to an audited endpoint"
net_denied out tcp "$cache4" 5978 "a denied SYN to the enforced twin does not pass"

echo "# an audited source"
net_allowed trial tcp "$out4" 80 "an audited source sends what its policy denies"
net_denied job tcp "$out4" 80 "its enforced twin cannot send the same"
net_check "one audit count for the packet, one for the ICMP error that answers it" net_moves "audit 2 $by_egress" net_datagram trial "$out4" 9
net_check "at the enforced twin one drop" net_moves "drop 1 $by_egress" net_datagram job "$out4" 9
# The node drops replies to the spoofed address.
ip -n "$NET-node" route add blackhole 10.99.0.1
ip -n "$NET-trial" addr add 10.99.0.1/32 dev lo
ip -n "$NET-job" addr add 10.99.0.1/32 dev lo
net_check "an audited source's packet with a foreign address passes" \
	net_moves "audit 1 source address that is not the endpoint's" \
	net_ask trial udp "$out4" 80 $NET_WAIT_DENIED 10.99.0.1
net_check "the enforced twin's packet with a foreign address is dropped" net_moves "drop 1 source address that is not the endpoint's" \
	net_ask job udp "$out4" 80 $NET_WAIT_DENIED 10.99.0.1

echo "# both ends"
net_allowed trial udp "$db4" 5978 "a packet between two audited ends passes"
net_check "between two audited ends one count for each packet" net_moves "audit 2 $by_egress" net_datagram trial "$db4" 9
net_denied trial udp "$cache4" 5978 "an enforced destination drops what an audited source sends"
brief() { # ARGUMENT...: the last drop as a line of a wide terminal
	env -u COLUMNS NO_COLOR=1 TERM=xterm script -qec "stty cols 200; nsenter --net=/run/netns/$NET-node $BULKHEAD monitor \
		--pin $NET_PIN --last 1 $*" /dev/null </dev/null | tr -d '\r'
}
net_check "a terminal names the policy that dropped, not that of the audited end" \
	net_ends 0 "drop  lab/trial -> shop/cache UDP/5978.*: ingress, isolated by shop/stores$" brief --from lab/trial --to shop/cache
net_denied job udp "$db4" 5978 "an enforced source drops what it sends to an audited destination"
net_allowed job udp "$db4" 7000 "an enforced source sends what its policy allows"

events >>"$NET_TMP/events"
net_check "the event of an audited packet has the reason and both ends" event '"verdict":"audit"' \
	'"source":{"name":"shop/web"' '"destination":{"name":"shop/db"' '"port":"TCP/443"' \
	"\"reason\":\"$by_ingress\"" '"ingress":{"verdict":"deny","tier":"network-policy"'
net_check "the event of a packet that the source's policy denies has the source" event '"verdict":"audit"' '"source":{"name":"lab/trial"' \
	"\"address\":\"$out4\"" '"egress":{"verdict":"deny","tier":"network-policy"'
net_check "the event of a packet that both ends deny has both decisions" event '"verdict":"audit"' '"port":"UDP/5978"' \
	'"source":{"name":"lab/trial"' '"destination":{"name":"shop/db"' '"egress":{"verdict":"deny"' \
	'"ingress":{"verdict":"deny"'
net_check "the uplink reports a drop for the enforced twin" event '"hook":"uplink"' \
	'"destination":{"name":"shop/cache"'
net_check "the uplink reports none for the audited endpoint" no_event '"hook":"uplink"' '"name":"shop/db"'
net_check "the audited endpoint's own hook reports it" event '"hook":"to endpoint"' '"verdict":"audit"' \
	'"source":{"name":null' '"destination":{"name":"shop/db"' '"port":"TCP/5978"'
net_check "no event calls an audited packet dropped" no_event '"verdict":"drop"' \
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
	net_check "an allowed connection has two counters: its first packet and the others" net_is "$(tally five web udp "$web" "$cache" 80)" \
		"pass of an allowed connection: 4, $((4 * udp))
pass opens a connection that policy allows: 1, $udp"
	# A pod that is enforced cannot forge the mark by which a hook leaves the count to the next hook.
	tc -n "$NET-web" qdisc add dev eth0 clsact
	net_check "web sets the mark by which a hook leaves the count to the next hook" net_on web "$NET_HELPERS/foreign" index eth0
	net_check "web's packets count all the same" net_is "$(tally five web udp "$web" "$job" 80)" \
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

echo "# IPv6 fragments that the node makes again, which lose the interface by which they came in"
net_on node nft -f - <<EOF2 || exit 1
table inet track {
	chain forward { type filter hook forward priority filter; ct state new accept; }
}
EOF2
uneven() { # FROM ID
	net_frame "$1" -n 3 eth0 "$(net_mac "$1")" 02:00:00:00:02:01 uneven "$(net_ip6 "$1")" "$(net_ip6 out)" 9 "$2"
}
net_nobody out "$(net_ip6 trial)" "$(net_ip6 job)"
net_check "each fragment of an audited source counts once" net_moves "audit 1 $by_egress
audit 2 $by_first" uneven trial 11
net_check "each fragment of its enforced twin is dropped once" net_moves "drop 1 $by_egress
drop 2 $by_first" uneven job 12
for pod in trial job; do
	ip -n "$NET-out" route del blackhole "$(net_ip6 $pod)"
done
net_check "the node tracks no more" net_on node nft delete table inet track

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
net_check "under --audit a denied connection opens" net_is "$(hear)" ready
net_check "the denied connection carries data" net_is "$(alive)" 1
net_allowed web tcp "$cache4" 443 "the enforced twin is audited by --audit"
net_allowed job udp "$out4" 443 "the other enforced twin is audited by --audit"
net_allowed out tcp "$cache4" 5978 "the uplink lets a denied SYN pass under --audit"
net_check "a denied packet from outside has its two counts under --audit" net_moves "audit 2 $by_ingress" net_datagram out "$cache4" 9
net_check "load without --audit" net_bulkhead load "$NET_TMP/policy.ini"
net_check "the denied connection stops at once" net_is "$(alive)" 0
net_check "load --audit again" net_bulkhead load --audit "$NET_TMP/policy.ini"
net_check "the denied connection goes on" goes_on
net_check "load without --audit again" net_bulkhead load "$NET_TMP/policy.ini"
net_denied web tcp "$cache4" 443 "the first twin enforces again"
net_denied job udp "$out4" 443 "the second twin enforces again"
net_allowed web tcp "$db4" 443 "the audited endpoint is audited still"

echo "# one endpoint that comes"
again() { # NAMESPACE/POD LABELS
	net_bulkhead endpoint del "$1" &&
		net_bulkhead endpoint add "$1" --ip "$(net_ip "${1#*/}")" \
			--mac "$(net_mac "${1#*/}")" --labels "$2"
}
net_check "endpoint add to a node that enforces" again shop/cache store=yes
net_denied web tcp "$cache4" 443 "the added endpoint is enforced"
net_check "endpoint add of an endpoint that the policy has as audited" again shop/db store=yes
net_allowed web tcp "$db4" 443 "the added endpoint is audited"
net_check "endpoint add into an audited namespace" again lab/trial role=trial
net_allowed trial tcp "$out4" 80 "the endpoint of the audited namespace is audited"
audited_file() {
	printf '[namespace shop]\naudit = yes\n[endpoint shop/cache]\n%s\n%s\n' \
		"ip = $cache4" "labels = store=yes" >"$NET_TMP/cache.ini"
	net_bulkhead endpoint del shop/cache &&
		net_bulkhead endpoint add --file "$NET_TMP/cache.ini"
}
net_check "endpoint add from a file whose namespace is audited" audited_file
net_allowed web tcp "$cache4" 443 "the endpoint from the file is audited"
net_check "load --audit" net_bulkhead load --audit "$NET_TMP/policy.ini"
net_check "endpoint add under load --audit" again shop/cache store=yes
net_allowed web tcp "$cache4" 443 "the endpoint that was added under --audit is audited"
net_check "a connection from before goes on there" settles
net_check "a denied packet to the added endpoint has its two counts" net_moves "audit 2 $by_ingress" net_datagram web "$cache4" 9
sed '/^uplink/d' "$NET_TMP/policy.ini" >"$NET_TMP/inside.ini"
ip -n "$NET-node" route del default
ip -n "$NET-node" -6 route del default
net_check "load --audit on a node without an uplink" net_bulkhead load --audit "$NET_TMP/inside.ini"
net_check "endpoint add on a node without an uplink" again shop/cache store=yes
net_allowed web tcp "$cache4" 443 "the added endpoint is audited without an uplink"
net_check "load without --audit on a node without an uplink" net_bulkhead load "$NET_TMP/inside.ini"
net_denied web tcp "$cache4" 443 "the endpoint is enforced without an uplink"
net_check "endpoint add to the enforcing node without an uplink" again shop/cache store=yes
net_denied web tcp "$cache4" 443 "the endpoint that was added last is enforced"

net_end
