#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Events for many readers, in fair shares: pods that flood denied packets hide no drop of another pod; each
# reader gets only events that its filter takes; a killed reader frees its place; without readers no event is
# built.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

# In an emulated machine floods are slower, and so is the event budget that they must exceed.
FLOOD=${FLOOD:-20000} RATE=1000
if [ -n "${BULKHEAD_SMALL:-}" ]; then
	FLOOD=1000 RATE=100
fi
NET_PORTS="80 443"
net_start db web loud noisy quiet
db4=$(net_ip db) db6=$(net_ip6 db) out4=$(net_ip out) out6=$(net_ip6 out)
host=02:00:00:00:02:01 out=02:00:00:00:07:02 node=02:00:00:00:07:01

{
	net_db_and_web eth0
	for pod in loud noisy quiet; do
		net_endpoint $pod/$pod
		printf '%s\n' "[network-policy $pod/$pod]" "endpoints = role=$pod" "types = Egress"
	done
	printf '%s\n' "[network-policy shop/db]" "endpoints = role=db" "ingress = ports TCP/80, UDP/80"
} >"$NET_TMP/policy.ini"

written() { # events that any reader has been given
	net_bulkhead status -j | grep -oE '"written":[0-9]+' | cut -d: -f2
}
readers() {
	net_bulkhead status -j | grep -oE '"readers":\[[0-9,]*\]' | grep -oE '[0-9]+' | wc -l
}
await_readers() { # COUNT: one that was killed counts for some seconds more
	local i
	for ((i = 0; i < 100; i++)); do
		[ "$(readers)" != "$1" ] || return
		sleep 0.3
	done
}
lines() { # FILE PATTERN...: how many lines have all of that
	awk 'BEGIN { for (n = 2; n < ARGC; n++) { pattern[n] = ARGV[n]; ARGV[n] = "" } }
		{ for (n in pattern) if (!index($0, pattern[n])) next; if ($0 != "") count++ }
		END { print count + 0 }' "$@"
}
drops() { # COUNT FROM ADDRESS PORT: a socket for each, in one process, that waits 30 ms for an answer
	# shellcheck disable=SC2016
	net_on "$2" bash -c 'for ((i = 0; i < $1; i++)); do
		exec 3<>"/dev/udp/$2/$3" && echo -n "?" >&3 && read -r -t 0.03 -u 3
	done; true' bash "$1" "$3" "$4"
}
# Sends denied packets from a pod at full speed until the process is killed.
flood() { # POD
	while :; do
		net_frame "$1" -n "$FLOOD" -p eth0 "$(net_mac "$1")" $host udp "$(net_ip "$1")" "$out4" 9
		net_frame "$1" -n "$FLOOD" -p eth0 "$(net_mac "$1")" $host udp "$(net_ip6 "$1")" "$out6" 9
	done >/dev/null 2>&1
}
# Floods a denied port of db from outside.
flood_db() {
	while :; do
		net_frame out -n "$FLOOD" -p eth0 $out $node udp "$out4" "$db4" 9
		net_frame out -n "$FLOOD" -p eth0 $out $node udp "$out6" "$db6" 9
	done >/dev/null 2>&1
}
stop() { # [-KILL] PROCESS...
	local process signal=-TERM
	[ "$1" != -KILL ] || { signal=$1 && shift; }
	for process; do
		kill "$signal" "$process"
		wait "$process"
	done 2>/dev/null
}
# Waits until the drop counters stand still: the last frames of a flood are still queued.
calm() {
	local before='' now
	until now=$(net_counters | grep ^drop) && [ "$now" = "$before" ]; do
		before=$now
		sleep 0.3
	done
}

# Prints how many events of a pod were reported and how many were suppressed.
told() { # POD
	local left
	left=$(grep -F "\"endpoint\":\"$1/$1\"" "$NET_TMP/fair" | grep -oE '"events":[0-9]+' |
		cut -d: -f2 | paste -sd+)
	echo $(($(lines "$NET_TMP/fair" "\"name\":\"$1/$1\"" '"verdict":"drop"') + ${left:-0}))
}
dropped() { # NAMESPACE
	net_bulkhead metrics | awk -v series="bulkhead_dropped_packets_total{namespace=\"$1\",direction=\"egress\"}" \
		'$1 == series { print $2 }'
}
all_told() { # POD
	[ "$(told "$1")" = "$(dropped "$1")" ]
}

net_check "load" net_bulkhead load --set event-rate=$RATE "$NET_TMP/policy.ini"

echo "# nobody reads"
drops 20 quiet "$out4" 9
drops 20 quiet "$out6" 9
net_check "without readers drops are counted" \
	test "$(net_counters | awk '/^drop .*denied by the source/ { print $2 }')" -ge 40
net_check "without readers no event is built" net_is "$(written)" 0

echo "# fair shares"
net_check "monitor starts" net_watch "$NET_TMP/all" -j
# The test is about shares of events, not of the processor: other tests run at the same time.
renice -n -10 -p "$net_reader" >/dev/null
flood loud &
loud=$!
flood noisy &
noisy=$!
flood_db &
outside=$!
NET_SERVERS+=("$loud" "$noisy" "$outside")
sleep 1
drops 20 quiet "$out4" 9
drops 20 quiet "$out6" 9
sleep "${BULKHEAD_SECONDS:-1}"
drops 20 web "$db4" 9
drops 20 web "$db6" 9
sleep 1
stop $loud $noisy $outside
calm
# Suppressed events are reported once a second.
for ((i = 0; i < 40; i++)); do
	net_seen "$NET_TMP/all" >>"$NET_TMP/fair"
	! { all_told loud && all_told noisy; } || break
done
net_check "during floods every drop of a quiet pod is an event" \
	net_is "$(lines "$NET_TMP/fair" '"name":"quiet/quiet"' '"verdict":"drop"')" 40
net_check "during floods every drop of a pod that sends to a flooded pod is an event" \
	net_is "$(lines "$NET_TMP/fair" '"name":"shop/web"' '"verdict":"drop"')" 40
for pod in loud noisy; do
	net_check "some drops of the flooding $pod are events" \
		test "$(lines "$NET_TMP/fair" "\"name\":\"$pod/$pod\"" '"verdict":"drop"')" -gt 40
	net_check "the reader is told that events of $pod were held back" test "$(lines "$NET_TMP/fair" \
		'"verdict":"suppressed"' "\"endpoint\":\"$pod/$pod\",\"direction\":\"egress\"")" -gt 0
done
net_check "the reader is told that events of the flood from outside were held back" test "$(lines "$NET_TMP/fair" \
	'"verdict":"suppressed"' '"endpoint":"shop/db","direction":"ingress"')" -gt 0
net_check "the reader is told of no other endpoint's events" net_is "$(grep -F '"verdict":"suppressed"' "$NET_TMP/fair" |
	grep -cvE '"endpoint":"(loud/loud|noisy/noisy|shop/db)"')" 0
net_check "no event was lost" \
	net_is "$(lines "$NET_TMP/fair" '"verdict":"lost"')" 0
for pod in loud noisy; do
	net_check "the events of $pod and those held back are all its drops" \
		net_is "$(told $pod)" "$(dropped $pod)"
done
net_check "status has whose events were held back" \
	eval 'net_bulkhead status | grep -qE "^  veth-noisy +[0-9]+ noisy/noisy$"'
net_check "metrics have whose events were held back" eval 'net_bulkhead metrics |
	grep -qE "^bulkhead_events_suppressed_total\{interface=\"veth-loud\",endpoint=\"loud/loud\"\} [1-9]"'
net_check "status names the process that reads" net_ends 0 "^readers of events: processes $net_reader$" net_bulkhead status
stop "$net_reader"
net_check "the ended reader has no place" net_is "$(readers)" 0
net_watch "$NET_TMP/text"
flood loud &
loud=$!
NET_SERVERS+=("$loud")
sleep 2
stop $loud "$net_reader"
calm
net_check "in text, events that were held back are a line" grep -qE \
	" [0-9]+ more events of packets from loud/loud \(veth-loud\) are left out$" "$NET_TMP/text"

echo "# filters"
told() { # NAME WANTED FILE COUNT: a reader's lines, all of which have WANTED
	net_check "$1" net_is "$(wc -l <"$3") $(grep -cE -- "$2" "$3")" "$4 $4"
}
mapfile -t filters <<'EOF'
by-endpoint 5 "name":"quiet/quiet" --endpoint quiet/quiet
by-namespace 6 "name":"loud/loud" --namespace loud
by-source 5 "source":\{"name":"quiet/quiet" --from quiet/quiet
by-destination 4 "destination":\{"name":"shop/db" --to shop/db
by-verdict 17 "verdict":"drop" --verdict drop
by-reason 2 "reason_name":"ingress" --reason ingress
by-port 1 "port":"UDP/8" --port UDP/8
by-all 2 "source":\{"name":"quiet/quiet".*UDP/7 --from quiet/quiet --port UDP/7 --verdict drop
EOF
net_check "load with the default rate" net_bulkhead load "$NET_TMP/policy.ini"
files=()
for filter in "${filters[@]}"; do
	read -r name _ _ options <<<"$filter"
	# shellcheck disable=SC2086
	net_check "a reader $name" net_watch "$NET_TMP/$name" -j $options
	files+=("$net_reader")
done
net_check "eight readers have places" net_is "$(readers)" 8
net_check "a ninth reader is refused" \
	net_is "$(net_bulkhead monitor --seconds 1 >/dev/null 2>"$NET_TMP/ninth"; echo $?)" 3
net_check "the message says that eight others read" grep -q "8 others read the events" "$NET_TMP/ninth"
for address in "$out4" "$out6"; do
	net_datagram quiet "$address" 7
	net_datagram quiet "$address" 9
	drops 3 loud "$address" 9
	drops 2 noisy "$address" 9
done
net_datagram quiet "$out4" 8
net_datagram web "$db4" 9
net_datagram web "$db6" 9
net_allowed web tcp "$db4" 80 "web sends TCP that policy allows"
net_allowed web udp "$db6" 80 "web sends UDP over IPv6 that policy allows"
for filter in "${filters[@]}"; do
	net_printed "$NET_TMP/${filter%% *}"
done
for filter in "${filters[@]}"; do
	read -r name count wanted _ <<<"$filter"
	told "$name: all of it, and nothing else" "$wanted" "$NET_TMP/$name" "$count"
done

echo "# readers that go"
stop "${files[@]:2}"
net_check "two readers are left after six have ended" net_is "$(readers)" 2
stop -KILL "${files[0]}"
await_readers 1
net_check "a killed reader frees its place within seconds" net_is "$(readers)" 1
net_check "another reader takes the place" net_watch "$NET_TMP/next" -j --from loud/loud
drops 2 loud "$out4" 9
drops 2 quiet "$out6" 9
net_check "the new reader gets what its filter selects" net_is "$(net_seen "$NET_TMP/next" |
	grep -c '"source":{"name":"loud/loud"') $(wc -l <"$NET_TMP/next")" "2 2"
net_printed "$NET_TMP/by-namespace"
net_check "the reader that stayed gets what its filter selects" net_is "$(wc -l <"$NET_TMP/by-namespace")" 8
net_check "the killed reader got no more events" net_is "$(wc -l <"$NET_TMP/by-endpoint")" 5
stop -KILL "${files[1]}" "$net_reader"
await_readers 0
before=$(written)
drops 2 loud "$out4" 9
drops 2 loud "$out6" 9
net_check "once all readers are killed, no event is built" net_is "$(written) $(readers)" "$before 0"

echo "# who comes later"
net_check "monitor starts for an endpoint that does not exist yet" \
	net_watch "$NET_TMP/later" -j --endpoint later/later
net_check "delete quiet" net_bulkhead endpoint del quiet/quiet
net_check "add quiet's addresses by the other name" net_bulkhead endpoint add later/later \
	--ip "$(net_ip quiet), $(net_ip6 quiet)" --labels role=quiet
is_heard() {
	local i
	for ((i = 0; i < 40; i++)); do
		net_datagram quiet "$db4" 9
		[ -z "$(net_seen "$NET_TMP/later")" ] || return 0
	done
	return 1
}
net_check "the reader learns of the endpoint" is_heard
for address in "$db4" "$db6"; do
	net_datagram quiet "$address" 9
	net_datagram loud "$address" 9
done
net_seen "$NET_TMP/later" >"$NET_TMP/of-later"
net_check "the reader gets the endpoint's events" net_is "$(grep -c '"source":{"name":"later/later"' "$NET_TMP/of-later") \
$(wc -l <"$NET_TMP/of-later")" "2 2"
stop "$net_reader"
net_check "the new endpoint has no drops of the one before" net_is "$(dropped later)" 0
net_check "the drops of the one before are still counted" test "$(dropped quiet)" -ge 80

echo "# into a file"
net_watch "$NET_TMP/none" -o "$NET_TMP/log"
drops 2 loud "$out4" 9
NET_READS[$NET_TMP/log]=$net_reader
net_printed "$NET_TMP/log"
net_check "monitor --follow-file prints nothing on standard output" net_is "$(net_seen "$NET_TMP/none")" ""
net_check "monitor --follow-file appends events to the file" net_is "$(grep -c '^{"time":.*"name":"loud/loud".*}$' "$NET_TMP/log")" 2
kill -HUP "$net_reader"
mv "$NET_TMP/log" "$NET_TMP/log.1"
until [ -e "$NET_TMP/log" ] || ! kill -0 "$net_reader"; do
	sleep 0.1
done
NET_READS[$NET_TMP/log]=$net_reader
drops 3 loud "$out6" 9
net_printed "$NET_TMP/log"
net_check "after a rotation events go to the new file" \
	net_is "$(grep -c . "$NET_TMP/log")" 3
net_check "no event is lost at the rotation" net_is "$(cat "$NET_TMP/log.1" "$NET_TMP/log" | wc -l)" 5
stop "$net_reader"
net_watch "$NET_TMP/none" -o "$NET_TMP/log"
drops 1 loud "$out4" 9
NET_READS[$NET_TMP/log]=$net_reader
net_printed "$NET_TMP/log"
stop "$net_reader"
net_check "another reader appends to the file" net_is "$(grep -c . "$NET_TMP/log")" 4

refused() { # ARGUMENT...
	net_fails 2 net_bulkhead monitor --seconds 1 "$@"
}
net_check "a malformed name is refused" refused --endpoint quiet
net_check "a malformed address is refused" refused --address 10.0.0.256
net_check "a port above 65535 is refused" refused --port 65536
net_check "an unknown reason is refused" refused --reason because
net_check "an unknown verdict is refused" refused --verdict maybe
net_check "a reason that contradicts the verdict is refused" refused --verdict pass --reason egress
net_check "a file in a folder that does not exist is refused" refused -o "$NET_TMP/nowhere/log"

net_end
