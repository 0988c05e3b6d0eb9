#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Each packet counts once, at the hook that decides; `monitor` reports it with the endpoints, the policy and
# the rule, and continues across policy changes.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web job late
db4=$(net_ip db) db6=$(net_ip6 db)

policy() { # PORT: what web may reach of db; the rule's number tells the two policies apart
	cat <<-EOF2
	$(net_db_and_web eth0)
	$(net_endpoint job)
	$(net_node_object)
	[network-policy shop/db-$1]
	endpoints = role=db
	ingress = from endpoints(role=job) ports TCP/1
	ingress = from endpoints(role=web) ports TCP/$1, UDP/$1
	[network-policy shop/closed]
	endpoints = role notin (web, job, late)
	[network-policy shop/job]
	endpoints = role=job
	types = Egress
	egress = to endpoints() ports TCP/80
	[admin-network-policy guard]
	priority = 1
	subject = endpoints(role=db in namespaces())
	ingress = no-$1: Deny from endpoints(role=web in namespaces()) ports UDP/5978
	EOF2
}
policy 80 >"$NET_TMP/one.ini"
policy 443 >"$NET_TMP/two.ini"

hits() { # RULE: of the rule so named at its end
	net_bulkhead show rules | awk -v rule="$1" '$NF == rule { print $5 }'
}

isolation() { # how often no rule allowed
	net_bulkhead show rules | awk '$1 == 0 { print $5 }'
}

net_check "monitor fails where nothing is loaded" net_fails 2 net_bulkhead monitor
net_check "load" net_bulkhead load "$NET_TMP/one.ini"

net_check "monitor starts" net_watch "$NET_TMP/events" -j
monitor=$net_reader

# Waits until a line of the events matches all patterns.
event() { # PATTERN...
	local pattern command="cat '$NET_TMP/events'"
	for pattern; do
		command+=" | grep -F -- '$pattern'"
	done
	for _ in $(seq 100); do
		bash -c "$command" >/dev/null && return
		sleep 0.1
	done
	echo "no event with $*"
	return 1
}
no_event() { # PATTERN
	! grep -F -- "$1" "$NET_TMP/events"
}

net_check "a packet denied at the source is one count" \
	net_moves "drop 1 denied by the source's policy" net_datagram job "$db4" 9
net_check "a packet denied at the destination is one count" \
	net_moves "drop 1 denied by the destination's policy" net_datagram web "$db4" 9
net_check "a packet denied over IPv6 is one count" \
	net_moves "drop 1 denied by the destination's policy" net_datagram web "$db6" 9
net_check "a packet denied from outside is one count" \
	net_moves "drop 1 denied by the destination's policy" net_datagram out "$db4" 9
net_check "an allowed packet and its answer are one count each" net_is "$(net_moved net_ask web udp "$db4" 80 5000)" \
	"$(printf '%s\n' "pass 1 of an allowed connection" "pass 1 opens a connection that policy allows")"
net_check "a packet that a Deny rule matches is one drop" \
	net_is "$(net_moved net_datagram web "$db4" 5978)" "drop 1 denied by the destination's policy"
net_check "the Deny rule has one hit" net_is "$(hits guard/no-80)" 1
net_check "the rule that allowed has one hit" net_is "$(hits 'shop/db-80/ingress[1]')" 1
net_check "a rule that decided nothing has no hit" net_is "$(hits 'shop/db-80/ingress[0]')" 0

net_check "the event of a drop has both ends and the rule" event '"verdict":"drop"' \
	'"source":{"name":"shop/web"' '"destination":{"name":"shop/db"' '"port":"UDP/5978"' \
	'"ingress":{"verdict":"deny","tier":"admin","policy":"guard","rule":"no-80"}'
net_check "the event of a drop without a rule has who isolates the source" event '"port":"UDP/9"' \
	'"reason":"denied by the source' '"egress":{"verdict":"deny","tier":"network-policy",' \
	'"policy":null,"rule":null,"isolated_by":["shop/job"]}'
net_check "the event of a drop without a rule has who isolates the destination" event '"port":"UDP/9"' '"reason":"denied by the destination' \
	'"ingress":{"verdict":"deny","tier":"network-policy",' \
	'"policy":null,"rule":null,"isolated_by":["shop/closed","shop/db-80"]}'
net_check "isolation has as many hits as packets that it denied" net_is "$(isolation)" 4
net_check "the event of an allowed packet has the rule" event '"verdict":"pass"' '"port":"UDP/80"' \
	'"source":{"name":"shop/web"' '"egress":{"verdict":"allow","tier":"default"' \
	'"ingress":{"verdict":"allow","tier":"network-policy","policy":"shop/db-80","rule":"ingress[1]"}'
net_check "the event of a packet from outside has an address and no name" event '"source":{"name":null' '"port":"UDP/9"'
net_check "no event is of an answer" no_event '"reply":true'

net_denied job tcp "$db4" 80 "a connection that only one end allows does not open"
net_check "the event of the denied connection has both ends" event '"port":"TCP/80"' '"source":{"name":"shop/job"' \
	'"egress":{"verdict":"allow","tier":"network-policy","policy":"shop/job","rule":"egress[0]"}' \
	'"ingress":{"verdict":"deny","tier":"network-policy"'
net_denied out tcp "$db6" 80 "a denied SYN from outside gets no answer"
net_check "the uplink's event has the SYN" event '"hook":"uplink"' '"interface":"eth0"' '"port":"TCP/80"'
net_allowed node tcp "$db4" 80 "the node opens a connection"
net_check "the event of the node's connection has the node's name" event '"source":{"name":"node worker-1"' '"verdict":"pass"'

net_check "load another policy" net_bulkhead load "$NET_TMP/two.ini"
net_denied web udp "$db4" 80 "a port that only the first policy allows is denied"
net_check "the event of the denied packet is a drop" event '"verdict":"drop"' '"port":"UDP/80"'
net_datagram web "$db4" 5978
net_check "the event of a denied packet has the second policy's names" event '"port":"UDP/5978"' '"policy":"guard","rule":"no-443"'
net_allowed web tcp "$db4" 443 "a port that the second policy allows passes"
net_check "the event of the new connection has the second policy's rule" event '"verdict":"pass"' '"port":"TCP/443"' \
	'"policy":"shop/db-443","rule":"ingress[1]"'

net_check "add an endpoint that the policy does not have" net_bulkhead endpoint add shop/late \
	--ip "$(net_ip late), $(net_ip6 late)" --mac "$(net_mac late)" --labels role=web
net_datagram late "$db4" 9
net_check "an event has the added endpoint's name" event '"verdict":"drop"' '"source":{"name":"shop/late"' \
	'"ingress":{"verdict":"deny","tier":"network-policy"'

kill -TERM "$monitor"
net_check "monitor ends at SIGTERM" wait "$monitor"
net_check "each event is one line of JSON" net_is "$(grep -cv '^{"time":".*}$' "$NET_TMP/events")" 0
net_check "no event was held back or lost" \
	net_is "$(grep -cE '"verdict":"(suppressed|lost)"' "$NET_TMP/events")" 0

echo "# how it ends"
net_watch "$NET_TMP/one" --count 1
net_datagram web "$db4" 9
net_datagram web "$db4" 9
net_check "monitor --count ends after that number of events" wait "$net_reader"
net_check "monitor --count 1 prints one event" net_is "$(wc -l <"$NET_TMP/one")" 1
net_check "an event in text has both names" grep -qE \
	'drop  shop/web \(.*\) -> shop/db \(.*:9\) UDP/9 .*; egress: allow default; ingress: deny network-policy, isolated by shop/closed, shop/db-443$' \
	"$NET_TMP/one"
net_check "monitor --seconds ends after that time" net_is "$(net_bulkhead monitor --seconds 1)" ""
net_watch "$NET_TMP/alike"
# Sends from one process, fast: equal events within a second are reported once.
net_on web bash -c "for i in 1 2 3 4 5; do echo -n '?' >/dev/udp/$db4/9; echo -n '?' >/dev/udp/$db6/9; done"
net_datagram web "$db4" 10
sleep 1.5
net_check "packets of one flow within a second are one line, and one with their number" net_is \
	"$(net_seen "$NET_TMP/alike" | sed -nE 's/.*-> shop\/db \(\[?([^]]*)\]?:(9|10)\) UDP.*/\1 \2 &/p' |
		sed -nE 's/^([^ ]* [^ ]*) .*; ([0-9]+ more)$/\1 \2/p;t;s/^([^ ]* [^ ]*) .*/\1/p' | sort)" \
	"$(printf '%s\n' "$db4 10" "$db4 9" "$db4 9 3 more" "$db6 9" "$db6 9 3 more" | sort)"
stop_reader() {
	kill "$net_reader" && wait "$net_reader"
}
net_check "the reader of repeats ends" stop_reader
net_check "--count 0 is refused" net_fails 2 net_bulkhead monitor --count 0

# A port without a protocol.
net_watch "$NET_TMP/port" --port 9
net_datagram web "$db4" 10
net_datagram web "$db4" 9
net_denied web tcp "$db4" 9 "web does not reach TCP/9 of db"
net_on web busybox ping -c 1 -W 1 "$db4" >/dev/null
net_check "monitor --port 9 prints packets to that port of UDP and TCP only" net_is \
	"$(net_seen "$NET_TMP/port" | sed -nE 's/.*-> shop\/db \(.*\) ([A-Z]+\/[0-9]+) .*/\1/p' | sort -u)" \
	"$(printf '%s\n' TCP/9 UDP/9)"
stop_reader

# A monitor that stands still, as after Ctrl-Z, says that it has lost events, and goes on.
net_watch "$NET_TMP/held" 2>"$NET_TMP/held.err"
reads() {
	net_bulkhead status -j | grep -qE "\"readers\":\[([0-9]+,)*${net_reader}[],]"
}
await() { # COMMAND...: for a minute at most
	local i
	for ((i = 0; i < 600; i++)); do
		"$@" && return
		net_pause 0.1
	done
	return 1
}
kill -STOP "$net_reader"
net_check "a suspended monitor loses its lease" await eval '! reads'
# The monitor has its place back unless an event has found the lease expired by then: the node may handle a datagram late.
drops() {
	net_counters | awk '/^drop/ { n += $2 } END { print n + 0 }'
}
is_dropped() {
	net_datagram web "$db4" 9 && [ "$(drops)" -gt "$before" ]
}
before=$(drops)
net_check "an event finds the lease expired" await is_dropped
kill -CONT "$net_reader"
net_check "the monitor says that events are lost" await grep -q '^warning: monitor: suspended .* events of that time are lost' "$NET_TMP/held.err"
net_datagram web "$db4" 10
net_check "the monitor prints the next event" net_is "$(net_seen "$NET_TMP/held" | grep -c 'UDP/10 ')" 1
stop_reader

watch() { # OUTPUT: in the background, until $monitor ends
	nsenter --net="/run/netns/$NET-node" "$BULKHEAD" monitor --pin "$NET_PIN" >"$1" 2>"$NET_TMP/rest.err" &
	monitor=$!
	NET_SERVERS+=("$monitor")
}
mkfifo "$NET_TMP/pipe"
watch "$NET_TMP/pipe"
exec {reader}<"$NET_TMP/pipe"
exec {reader}<&-
net_check "monitor ends where nobody reads its output" wait "$monitor"
no_room() { # the output goes to a full disk
	watch /dev/full
	for _ in $(seq 200); do
		kill -0 "$monitor" 2>/dev/null || break
		net_datagram web "$db4" 9
		sleep 0.1
	done
	wait "$monitor"
	net_is $? 3 && net_is "$(cat "$NET_TMP/rest.err")" "bulkhead: cannot write standard output: No space left on device"
}
net_check "monitor ends where the disk is full, and says so" no_room
no_room_for_file() { # the file is on a full disk, and events come one by one
	nsenter --net="/run/netns/$NET-node" "$BULKHEAD" monitor --pin "$NET_PIN" -o /dev/full 2>"$NET_TMP/rest.err" &
	monitor=$!
	NET_SERVERS+=("$monitor")
	for _ in $(seq 200); do
		[ ! -s "$NET_TMP/rest.err" ] || break
		net_datagram web "$db4" 9
		sleep 0.1
	done
	for port in 11 12 13; do
		sleep 0.3
		net_datagram web "$db4" $port
	done
	sleep 0.3
	kill "$monitor" && wait "$monitor"
	net_is "$(cat "$NET_TMP/rest.err")" "bulkhead: /dev/full: No space left on device: events are lost"
}
net_check "monitor -o says once that the disk is full, and goes on" no_room_for_file
watches() { # until it has printed an event
	: >"$NET_TMP/rest"
	watch "$NET_TMP/rest"
	for _ in $(seq 100); do
		[ ! -s "$NET_TMP/rest" ] || break
		net_datagram web "$db4" 9
		sleep 0.1
	done
}
left_alone() { # MESSAGE: monitor's status and message
	wait "$monitor"
	net_is $? 1 && grep "$1" "$NET_TMP/rest.err"
}
watches
rm -rf "$NET_PIN"
net_check "load again, without the pins of the last load" net_bulkhead load "$NET_TMP/two.ini"
net_check "monitor ends if other maps are pinned, says so and fails" left_alone "a load has made other maps"
watches
net_check "unload" net_bulkhead unload
net_check "monitor ends after unload, says so and fails" left_alone "the policy was unloaded: nothing is guarded"

net_end
